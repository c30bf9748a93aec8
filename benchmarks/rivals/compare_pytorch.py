#!/usr/bin/python3
"""Runs Sluice and PyTorch step by step in turn and compares time and memory.

    compare_pytorch.py [MODEL[:BATCH]...] [--threads T] [--rounds N] [--sluice PLANNER[@BUDGET],...]
                       [--rivals plain,checkpoint,disk,pool,offload@BUDGET,trainer] [--optimizer sgd|adamw] [--dropout P]
                       [--there plain,compile] [--root FOLDER] [--json OUT]

Without a model: the nine of the README's table, one after the other, and the geometric means at the end.
Each contestant is a process of its own, so that its peak resident size is its own. A round is one step of each, in an
order that rotates from round to round; a drift of the machine meets all of them alike. The first --warmup rounds are
not counted. "vs" is the median over the rounds of a contestant's time by that of the reference's same round. Whoever is
not at turn is stopped. "alone" is the median of --alone further steps of one contestant after the other, each of which
has the caches to itself: what a user sees.

The contestants of Sluice are named planner@budget, such as fast-only, sentinel@20%. The rivals: PyTorch plain (the
faster of its two memory formats), with every block checkpointed, and with its saved tensors in a file
(benchmarks/rivals/pytorch_step.py). offload@1GiB is PyTorch under sluice.offload, pool plain PyTorch in its memory, trainer
sluice.Trainer. AdamW is for these only. Dropout is 0 on both sides unless asked for. --there: rivals by another Debian's PyTorch, laid
into FOLDER by scripts/test_platform.sh (trixie sh "scripts/install_packages.sh rivals"); compile is torch.compile.
Exit status 77 when PyTorch is not installed, and a line that says how to.
"""

import argparse
import os
import statistics
import sys
import tempfile

from openblas_core import describe, fastest_core
from pytorch_step import rival_libraries
from contestants import (HERE, MIB, PYTHON, ROOT, SEQUENCES, Contestant, environment, require_pytorch, rotated, run, run_script,
                         sluice_plan, workload_settings, write_json)

# The sizes of the published comparison.
BATCHES = {"resnet50": 16, "vgg16": 8, "inception_v3": 8, "densenet121": 16, "mobilenet_v2": 32, "squeezenet1_1": 32,
           "lstm": 20, "bert_base": 8, "gpt2_small": 4, "resnet32": 128, "dcgan": 128, "resnet18": 32, "efficientnet_b0": 16,
           "vit_b_16": 8, "depth_drawn": 32, "early_exits": 32}
TABLE = list(BATCHES)[:9]
PLATFORMS = os.environ.get("SLUICE_PLATFORMS") or os.path.expanduser("~/.cache/sluice/platforms")  # scripts/test_platform.sh


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL[:BATCH]", help=f"of {', '.join(BATCHES)}")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds (default 7)")
    parser.add_argument("--warmup", type=int, default=2, help="rounds before those (default 2)")
    parser.add_argument("--alone", type=int, default=3, help="counted steps alone, after the rounds (default 3)")
    parser.add_argument("--dropout", type=float, default=0.0, help="of models that have it (default 0)")
    parser.add_argument("--sluice", dest="ours", default="fast-only", help="planners and budgets (default %(default)s)")
    parser.add_argument("--rivals", default="plain", help="of plain, checkpoint, disk; pool, offload@BUDGET, trainer (default %(default)s)")
    parser.add_argument("--root", default=os.path.join(PLATFORMS, "trixie"), help="another Debian, for --there (default %(default)s)")
    parser.add_argument("--there", default="", help="rivals by its PyTorch: of plain, compile")
    parser.add_argument("--optimizer", choices=["sgd", "adamw"], default="sgd")
    parser.add_argument("--binary", dest="sluice", default=os.path.join(ROOT, "build/release/tools/sluice"))
    parser.add_argument("--spill-dir", default=os.path.join(ROOT, "build"), help="where both sides spill to")
    parser.add_argument("--json", help="write the results to this file too")
    options = parser.parse_args()
    options.ours = [name for name in options.ours.split(",") if name]
    options.rivals = [name for name in options.rivals.split(",") if name]
    options.there = [name for name in options.there.split(",") if name]
    if options.there and not os.path.isdir(os.path.join(options.root, "sluice/benchmarks/rivals")):
        parser.error("--there is for the PyTorch of a Debian in --root, with these sources in its /sluice")
    options.workloads = []
    for text in options.models or TABLE:
        model, _, batch = text.partition(":")
        if model not in BATCHES or (batch and not batch.isdigit()):
            parser.error(f"'{text}' is not MODEL[:BATCH] with a model of {', '.join(BATCHES)}")
        options.workloads.append((model, int(batch or BATCHES[model])))
    if options.rounds < 1 or options.alone < 1 or options.threads < 1 or any(batch < 1 for _, batch in options.workloads):
        parser.error("batches, --rounds, --alone and --threads must be at least 1")
    if options.optimizer != "sgd" and options.ours:
        parser.error("--optimizer adamw is for PyTorch's contestants: give --sluice ''")
    unknown = {name.partition("@")[0] for name in options.rivals} - {"plain", "pool", "checkpoint", "disk", "offload", "trainer"}
    if unknown:
        parser.error(f"unknown rival {', '.join(sorted(unknown))}; known: plain, checkpoint, disk, pool, offload@BUDGET, trainer[@BUDGET]")
    return options


def sluice_contestant(options, workload, contestant, folder):
    """A worker that obeys the plan of planner@budget."""
    planner, _, budget = contestant.partition("@")
    setup = sluice_plan(options, workload_settings(*workload, options.dropout), planner, budget, folder)
    return Contestant(f"sluice {contestant}", [options.sluice, "worker"], setup)


IN_ROOT = """
mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && mount -t proc proc "$0/proc" || exit 1
exec chroot "$0" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 "$@"
"""


def in_root(root):
    """How to start a program there, as root, with nothing of this system's environment."""
    return ["unshare", "--mount", "sh", "-c", IN_ROOT, root]


def version_in(root):
    found = run([*(in_root(root) if root else []), PYTHON, "-c", "import torch; print('.'.join(torch.__version__.split('.')[:2]))"])
    return found.stdout.strip()


def pytorch_contestant(options, workload, name, root=None):
    mode, _, budget = name.partition("@")
    here = "/sluice/benchmarks/rivals" if root else HERE
    return Contestant(f"pytorch {name}" + (f" {version_in(root)}" if root else ""),
                      [*(in_root(root) if root else []), PYTHON, os.path.join(here, "pytorch_step.py"), workload[0], "--batch", str(workload[1]),
                       "--threads", str(options.threads), "--mode", mode, "--serve", "--optimizer", options.optimizer, *(["--fast", budget] if budget else []),
                       *(["--dropout", str(options.dropout)] if workload[0] in SEQUENCES else []),
                       *(["--core", options.openblas["core"]] if options.openblas["core"] else []), "--spill", os.path.join("/tmp" if root else options.spill_dir, f"pytorch-{os.getpid()}.spill")])


def run_rounds(contestants, options):
    for round_index in range(options.warmup + options.rounds):
        counted = round_index >= options.warmup
        label = f"round {round_index - options.warmup + 1} of {options.rounds}" if counted else "warming up"
        print(f"\r{label}...", end=" ", file=sys.stderr, flush=True)
        for contestant in rotated(contestants, round_index):
            contestant.step(round_index, counted)
    print(file=sys.stderr)


def run_alone(contestants, options):
    """Median seconds of steps of each behind its own steps, the first not counted; by name."""
    first = options.warmup + options.rounds
    medians = {}
    for contestant in contestants:
        steps = [contestant.step(first + index, counted=False)["step_seconds"] for index in range(1 + options.alone)]
        medians[contestant.name] = statistics.median(steps[1:])
    return medians


def row_of(contestant, references, alone):
    summary = contestant.finish()
    times = contestant.seconds
    ratios = {name: statistics.median(own / other for own, other in zip(times, reference))
              for name, reference in references.items()}
    return {"name": contestant.name,
            "step_ms": {"median": 1e3 * statistics.median(times), "min": 1e3 * min(times), "max": 1e3 * max(times)},
            "alone_ms": 1e3 * alone[contestant.name],
            "rounds_ms": [1e3 * seconds for seconds in times],
            "ratio_to": ratios,
            "peak_rss_bytes": summary["peak_rss_bytes"],
            "capturing_peak_rss_bytes": summary.get("capturing_peak_rss_bytes", 0),  # of a trainer's child, before the steps
            "parameter_hash": summary["parameter_hash"],
            "final_loss": contestant.losses[-1]}


def print_table(rows, references):
    width = max(len(row["name"]) for row in rows)
    print(f"{'':{width}}  {'median':>9} {'min':>9} {'max':>9} {'alone':>9} {'peak RSS':>10}" +
          "".join(f"  {'vs ' + name:>{len(name) + 3}}" for name in references))
    for row in rows:
        step = row["step_ms"]
        print(f"{row['name']:{width}}  {step['median']:6.0f} ms {step['min']:6.0f} ms {step['max']:6.0f} ms {row['alone_ms']:6.0f} ms "
              f"{row['peak_rss_bytes'] / MIB:6.0f} MiB" +
              "".join(f"  {row['ratio_to'][name]:>{len(name) + 3}.3f}" for name in references))


def compare(options, workload, folder):
    """One model's table; returns its rows."""
    contestants = [sluice_contestant(options, workload, name, folder) for name in options.ours]
    contestants += [pytorch_contestant(options, workload, mode) for mode in options.rivals]
    contestants += [pytorch_contestant(options, workload, mode, options.root) for mode in options.there]
    for contestant in contestants:
        for note in contestant.notes:
            print(f"{contestant.name}: {note}", file=sys.stderr)
    run_rounds(contestants, options)
    references = {entry.name: entry.seconds for entry in contestants if entry.name.startswith("pytorch ")}
    alone = run_alone(contestants, options)
    rows = [row_of(contestant, references, alone) for contestant in contestants]
    print(f"{workload[0]}, batch {workload[1]}")
    print_table(rows, references)
    print(flush=True)
    return {"model": workload[0], "batch": workload[1], "results": rows}


def print_summary(comparisons, contestant, rival):
    """Each model's time, in turn and alone, and memory by the rival's, and their means."""
    summary = []
    print(f"{contestant} by {rival}\n{'':16} {'time':>7} {'alone':>7} {'peak RSS':>9}")
    for comparison in comparisons:
        rows = {row["name"]: row for row in comparison["results"]}
        time = rows[contestant]["ratio_to"][rival]
        memory = rows[contestant]["peak_rss_bytes"] / rows[rival]["peak_rss_bytes"]
        alone = rows[contestant]["alone_ms"] / rows[rival]["alone_ms"]
        summary.append({"model": comparison["model"], "time": time, "alone": alone, "memory": memory})
        print(f"{comparison['model']:16} {time:7.3f} {alone:7.3f} {memory:9.3f}")
    means = {key: statistics.geometric_mean([entry[key] for entry in summary]) for key in ("time", "alone", "memory")}
    print(f"{'geometric mean':16} {means['time']:7.3f} {means['alone']:7.3f} {means['memory']:9.3f}\n")
    return {"contestant": contestant, "rival": rival, "models": summary, "geometric_mean": means}


def main():
    options = arguments()
    require_pytorch()
    if not os.access(options.sluice, os.X_OK):
        sys.exit(f"compare_pytorch: {options.sluice} is missing; build it first: cmake --build --preset release")
    os.makedirs(options.spill_dir, exist_ok=True)
    options.openblas = fastest_core(rival_libraries(options.threads)[0])
    setting = {"openblas": options.openblas, "threads": options.threads, "rounds": options.rounds, "dropout": options.dropout, **environment()}
    print(f"{options.threads} threads, {options.rounds} rounds interleaved, {setting['cpu']}, commit {setting['commit']}")
    print(describe(options.openblas) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        comparisons = [compare(options, workload, folder) for workload in options.workloads]
    ours = [f"sluice {name}" for name in options.ours]
    ours += [f"pytorch {name}" for name in options.rivals if name.startswith("trainer")]
    rivals = ["pytorch plain"] * ("plain" in options.rivals) + [f"pytorch {name} {version_in(options.root)}" for name in options.there]
    summaries = [print_summary(comparisons, name, rival) for name in ours for rival in rivals]
    write_json(options.json, {**setting, "comparisons": comparisons, "summaries": summaries})


if __name__ == "__main__":
    run_script(main)
