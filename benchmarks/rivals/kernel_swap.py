#!/usr/bin/python3
"""Runs Sluice's plan and the kernel's own swapping in the same physical memory, step by step in turn.

    kernel_swap.py [MODEL[:BATCH]...] [--fast BUDGET] [--rounds N] [--steps N] [--limit SECONDS] [--patience SECONDS]
                   [--threads T] [--spill-dir FOLDER] [--json OUT] [--help]

    kernel_swap.py resnet50:16                          one model in a fifth of its memory
    kernel_swap.py mobilenet_v2:4 --fast 40% --rounds 5
    kernel_swap.py --json swap.json                     all the models of the table, about ten minutes

Four contestants train the same model from the same parameters on the same data:
  unlimited         everything in fast memory, as much of it as it takes: the baseline
  swap              the same, in a memory control group that is too small for it, with a swap file
  swap small pages  the same again with 4 KiB pages only: arenas ask for huge ones, which the kernel has to split
  sentinel          Sluice's plan for a fast-memory budget of BUDGET, in a control group of the same size
The size of all three groups is the peak resident size of the sentinel process in a trial of two steps: the arena of its
budget and everything else the process takes. (Its libraries are among that, but the kernel charges them to whoever read
them first, so the swapped ones have that much more for their data.) The swap file lies in the folder of the spill file.

A round is --steps steps of each contestant, in an order that rotates; a drift of the machine meets all of them alike.
One step of each before the first round is not counted. A swapped one takes no further step once its steps have taken
--limit seconds; when it takes longer than --patience to start or for one step, it is ended and shown as "> N s".
"slowdown" is the median over steps of the time by that of the baseline's same step. Losses of every step and the hash
of the parameters at the end are compared bit for bit; a contestant that took fewer steps is compared by losses alone.

Needs root, control groups (version 1 or 2), permission to swap, and room on the disk. Exit status 77 without, and a
line that says what is missing. Swap files and groups are removed on the way out, by Ctrl-C too.
"""

import os
import shutil
import signal
import statistics
import sys
import tempfile

from contestants import MIB, contest_parser, environment, rotated, run_script, sluice_plan, workload_settings, write_json
from memory_cgroup import MemoryCgroup, Unavailable
from swap_file import SwapFile
from swapped_contestant import Swapped, cleaned_up, made, started, without_huge_pages

BATCHES = {"resnet32": 128, "resnet50": 16, "vgg16": 8, "mobilenet_v2": 16, "inception_v3": 8, "densenet121": 8,
           "lstm": 20, "bert_base": 4, "dcgan": 64}
TRIAL_STEPS = 2
SKIPPED = 77


def arguments():
    parser = contest_parser(__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL[:BATCH]", help="(default: the nine of the table)")
    parser.add_argument("--fast", default="20%", help="Sluice's budget (default %(default)s); where the planner needs "
                        "more, the least it can do with")
    parser.add_argument("--rounds", type=int, default=3, help="(default %(default)s)")
    parser.add_argument("--steps", type=int, default=3, help="of each in a round (default %(default)s)")
    parser.add_argument("--limit", type=float, default=12, help="seconds for the swapped steps (default %(default)s)")
    parser.add_argument("--patience", type=float, default=60, help="seconds for one of them (default %(default)s)")
    options = parser.parse_args()
    options.workloads = []
    for text in options.models or BATCHES:
        model, _, batch = text.partition(":")
        if not (batch.isdigit() and int(batch) > 0 if batch else model in BATCHES):
            parser.error(f"'{text}' is not MODEL:BATCH; without a batch: {', '.join(BATCHES)}")
        options.workloads.append((model, int(batch or BATCHES[model])))
    if options.rounds < 1 or options.steps < 1 or options.threads < 1 or min(options.limit, options.patience) <= 0:
        parser.error("--rounds, --steps and --threads must be at least 1, --limit and --patience above 0")
    return options


def require_swap(options):
    """Tries it out, small."""
    if os.geteuid() != 0:
        raise Unavailable("control groups and swap files need root")
    with cleaned_up() as stack:
        made(stack, MemoryCgroup("sluice-try")).limit(64 * MIB)
        made(stack, SwapFile(options.spill_dir, MIB))


def trial(options, setups):
    """Peak resident sizes of the baseline and of the plan, each by itself and without a limit."""
    peaks = {}
    for name, setup in setups.items():
        with cleaned_up() as stack:
            contestant = started(stack, name, [options.sluice, "worker"], setup)
            for index in range(TRIAL_STEPS):
                contestant.step(index, counted=False)
            peaks[name] = contestant.finish()["peak_rss_bytes"]
    return peaks


def require_room(options, bytes_needed):
    free = shutil.disk_usage(options.spill_dir).free
    if free < bytes_needed:
        raise Unavailable(f"{options.spill_dir} has {free / MIB:.0f} MiB free, and the swap file and the spill file "
                          f"need {bytes_needed / MIB:.0f} MiB; name another --spill-dir")


def run_rounds(options, contestants):
    index = 0
    for round_index in range(options.rounds + 1):
        counted = round_index > 0
        count = options.steps if counted else 1
        for contestant in rotated(contestants, round_index):
            print(f"\r{f'round {round_index} of {options.rounds}' if counted else 'warming up'}: {contestant.name:16}",
                  end="", file=sys.stderr, flush=True)
            for turn in range(count):
                contestant.step(index + turn, counted)
        index += count
    print("\r" + 40 * " " + "\r", end="", file=sys.stderr, flush=True)


def row_of(contestant, baseline, summary, more):
    """`contestant` has taken the baseline's steps, or the first few of them."""
    times, losses = contestant.seconds, contestant.losses
    ratios = [own / other for own, other in zip(times, baseline.seconds)]
    return {"name": contestant.name, "steps_ms": [1e3 * seconds for seconds in times],
            "step_ms": spread([1e3 * seconds for seconds in times]), "slowdown": spread(ratios),
            "peak_rss_bytes": summary and summary["peak_rss_bytes"],
            "parameter_hash": summary and summary["parameter_hash"],
            "losses": losses, "same_losses": losses == baseline.losses[:len(losses)], **more}


def row_of_swapped(swapped, baseline):
    summary = swapped.finish()
    more = {"ended": swapped.ended, "swap_traffic": swapped.traffic, "group_peak_bytes": swapped.group.peak(),
            "out_of_memory_retries": swapped.group.retries}
    if swapped.contestant:
        return row_of(swapped.contestant, baseline, summary, more)
    return {"name": swapped.name, "steps_ms": [], "step_ms": None, "slowdown": None, "losses": [], **more}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)} if values else None


def contest(options, stack, setups, peaks):
    """Runs all contestants and returns their rows, the baseline's first."""
    groups = [made(stack, MemoryCgroup(f"sluice-{name}")) for name in ("swap", "swap-small", "sentinel")]
    made(stack, SwapFile(options.spill_dir, 2 * peaks["unlimited"]))
    for group in groups:
        group.limit(peaks["sentinel"])
    command = [options.sluice, "worker"]
    baseline = started(stack, "unlimited", command, setups["unlimited"])
    sentinel = started(stack, "sentinel", command, setups["sentinel"], groups[2].enter)
    swapped = [Swapped("swap", options, groups[0]), Swapped("swap small pages", options, groups[1])]
    for group in groups[:2]:
        group.wait_for_memory()
    swapped[0].start(stack, setups["unlimited"], groups[0].enter)
    swapped[1].start(stack, setups["unlimited"], lambda: (groups[1].enter(), without_huge_pages()))
    run_rounds(options, [baseline, *swapped, sentinel])
    return [row_of(baseline, baseline, baseline.finish(), {}), *(row_of_swapped(each, baseline) for each in swapped),
            row_of(sentinel, baseline, sentinel.finish(), {"group_peak_bytes": groups[2].peak()})]


def compare(options, workload, folder):
    """Runs one model's contestants; returns what the table and the file show."""
    settings = workload_settings(*workload)
    setups = {"unlimited": sluice_plan(options, settings, "fast-only", None, folder),
              "sentinel": sluice_plan(options, settings, "sentinel", options.fast, folder, ["--smallest-feasible"])}
    peaks = trial(options, setups)
    require_room(options, 3 * peaks["unlimited"])
    with cleaned_up() as stack:
        rows = contest(options, stack, setups, peaks)
    for row in rows:
        complete = len(row["losses"]) == len(rows[0]["losses"])
        row["same_parameters"] = row["parameter_hash"] == rows[0]["parameter_hash"] if complete else None
    return {"model": workload[0], "batch": workload[1], "memory_limit_bytes": peaks["sentinel"],
            "unlimited_peak_rss_bytes": peaks["unlimited"], "results": rows}


def times_of(row):
    if not row["step_ms"]:
        return f"{row['ended'] or 'no step in time':>35} {'':>9}"
    step = row["step_ms"]
    return f"{step['median']:8.0f} ms {step['min']:8.0f} ms {step['max']:8.0f} ms {row['slowdown']['median']:9.2f}"


def differs(row):
    return row.get("same_losses") is False or row["same_parameters"] is False


def result_of(row):
    steps = len(row["losses"])
    if differs(row):
        return "DIFFERENT"
    if not steps:
        return "-"
    return f"same after {steps} steps" if row["same_parameters"] else f"same losses of {steps} steps"


def print_comparison(comparison):
    limit, unlimited = comparison["memory_limit_bytes"], comparison["unlimited_peak_rss_bytes"]
    print(f"{comparison['model']}, batch {comparison['batch']}: {limit / MIB:.0f} MiB of memory, "
          f"{100 * limit / unlimited:.0f} % of the {unlimited / MIB:.0f} MiB that the process takes without a limit")
    print(f"{'':16} {'median':>11} {'min':>11} {'max':>11} {'slowdown':>9} {'peak RSS':>10}  result")
    for row in comparison["results"]:
        peak = f"{row['peak_rss_bytes'] / MIB:.0f} MiB" if row.get("peak_rss_bytes") else "-"
        print(f"{row['name']:16} {times_of(row)} {peak:>10}  {result_of(row)}")
    for row in comparison["results"]:
        print_swapping(row)
    print(flush=True)


def print_swapping(row):
    if row.get("swap_traffic"):
        step = {name: statistics.median(each[name] for each in row["swap_traffic"]) for name in row["swap_traffic"][0]}
        print(f"{row['name']}: {step['in_bytes'] / MIB:.0f} MiB in and {step['out_bytes'] / MIB:.0f} MiB out a step; "
              f"huge pages out: {step['huge_pages_whole']:.0f} whole, {step['huge_pages_split']:.0f} split")
    if row.get("out_of_memory_retries"):
        print(f"{row['name']}: found no memory {row['out_of_memory_retries']} times, and was told to try again")
    if row.get("ended") and row["step_ms"]:
        print(f"{row['name']}: ended early: {row['ended']}")


def print_summary(comparisons):
    names = [row["name"] for row in comparisons[0]["results"][1:]]
    print(f"{'slowdown':16}" + "".join(f" {name:>18}" for name in names))
    for comparison in comparisons:
        cells = [f"{row['slowdown']['median']:.2f}" if row["slowdown"] else row["ended"] or "no step in time"
                 for row in comparison["results"][1:]]
        print(f"{comparison['model']:16}" + "".join(f" {cell:>18}" for cell in cells))


def end_on_signal(number, _):
    sys.exit(128 + number)


def run(options):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_on_signal)
    os.makedirs(options.spill_dir, exist_ok=True)
    require_swap(options)
    with open("/proc/sys/vm/swappiness") as file:
        swappiness = int(file.read())
    setting = {"threads": options.threads, "rounds": options.rounds, "steps": options.steps, "fast": options.fast,
               "limit_seconds": options.limit, "patience_seconds": options.patience, "swappiness": swappiness,
               **environment()}
    print(f"{options.threads} threads, {options.rounds} rounds of {options.steps} steps interleaved, {setting['cpu']}, "
          f"commit {setting['commit']}\n", flush=True)
    comparisons = []
    with tempfile.TemporaryDirectory() as folder:
        for workload in options.workloads:
            comparisons.append(compare(options, workload, folder))
            print_comparison(comparisons[-1])
            write_json(options.json, {**setting, "comparisons": comparisons})
    print_summary(comparisons)
    return 1 if any(differs(row) for comparison in comparisons for row in comparison["results"]) else 0


def main():
    options = arguments()
    if not os.access(options.sluice, os.X_OK):
        sys.exit(f"kernel_swap: {options.sluice} is missing; build it first: cmake --build --preset release")
    try:
        return run(options)
    except Unavailable as missing:
        print(f"skipped: {missing}")
        return SKIPPED


if __name__ == "__main__":
    run_script(main)
