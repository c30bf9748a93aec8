#!/usr/bin/python3
"""Throughput over the number of ranks (ZeRO-Offload's figures 5.9 and 5.10): simulated up to 128, and the prediction against runs.

    benchmarks/scaling_curve.py --json scaling_curve.json
    benchmarks/scaling_curve.py --parts curve,node --json scaling_curve.json      what is simulated alone: a minute

curve, node  Simulated, in the ratios of the paper's machine: paper_ratios.py says how a small GPT-2 stands for one of billions. Link
             and network are slowed until they carry its bytes in the time that the paper's carry those of the large model, so
             seconds are the paper's; bytes are scaled to it. Nodes are DGX-2 of 16 ranks. A rank sends at 150 GB/s to the next one
             of its node (six NVLinks of 25 GB/s), and where there are several nodes at 100 GB/s, a node's InfiniBand (800 Gb/s): a
             ring crosses from node to node once, whoever is in it. Neither figure is in the paper, which says "InfiniBand".
             The network waits for nobody, has no latency, and takes the device's time: nothing hides it. A node's host
             updates all of its ranks' parts in the time of table 5.4, n nodes in an n-th; a device updates its own
             part alone. Each rank has a PCIe link of its own. What ranks add up takes no time but the network's.
  curve      figure 5.10: 10 billion parameters, the batch per rank of table 5.3 (10) once a step, which the figure does not say
  node       figure 5.9: one node, 512 samples a step in micro-batches of table 5.3, zero-offload over everything on the device
validation   Executed: `mpirun -n N sluice train` on this machine, each rank a thread, all in memory (fast-only), against what `sluice
             plan --ranks N --network BANDWIDTH` predicts. The bandwidth is what mpi_collectives.py measures for tensors of the
             model's sizes, in the same rounds and without Sluice; nothing is fitted to a run. Ranks that have no core each share them,
             which no figure of the prediction knows, so they are not timed. Beside them N trainings that do not know of one
             another run at once: what they take longer than one alone is the price of sharing memory and caches, which the prediction
             does not have; nor has it what ranks wait for the slowest of them, or a message's latency. Three sizes of what a rank
             computes for the same exchange. Needs an idle machine, and says where it was not.

The ranks of zero-offload are not timed: each keeps its device and its host to a core, and all ranks of a machine to the same ones.
As root, Open MPI wants OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1. Tables go to standard output, progress
to standard error.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import types

import paper_ratios
from busy_machine import quartiles
from processes import json_of, parser_of, write_json

NODE_RANKS, IN_NODE, BETWEEN_NODES = 16, 150e9, 100e9
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
# name: (planner, options, what it is)
WAYS = {"zero-offload": ("zero-offload", [], "updates begin as gradients come"),
        "clipped": ("zero-offload", ["--clip-norm", "1"], "updates begin behind the last gradient, as the paper's do"),
        "on the device": ("fast-only", [], "ZeRO-2: everything on the device")}
PAPER_SAYS = ("the paper (figure 5.10): near-perfect linear, over 30 TFLOPS a GPU up to 128; ZeRO-2 has no room up to 16 GPUs, is\n"
              "slightly slower at 32 (a smaller batch) and faster at 64 and 128")

WIDTH, DEPTH = 512, 4
VALIDATED = ["gpt2_small", "--classes", "256", "--width", str(WIDTH), "--depth", str(DEPTH), "--optimizer", "adamw", "--precision",
             "bf16-masters", "--planner", "fast-only", "--threads", "1"]
CASES = {"16 tokens": ["--batch", "1", "--sequence", "16"], "64 tokens": ["--batch", "1", "--sequence", "64"],
         "256 tokens": ["--batch", "4", "--sequence", "64"]}


def progress(line):
    print(line, file=sys.stderr, flush=True)


def nodes_of(ranks):
    return -(-ranks // NODE_RANKS)


def network_of(ranks):
    """Bytes a second that a rank sends; None where it has nobody to send to."""
    if ranks == 1:
        return None
    return IN_NODE if nodes_of(ranks) == 1 else BETWEEN_NODES


def sent_bytes(notes):
    """What a rank sends in a step, as `sluice plan` says it."""
    found = re.search(r"ranks, ([0-9.]+) (\w+) a step over a network", notes)
    return float(found[1]) * UNITS[found[2]] if found else 0


def state_bytes(plan):
    """Parameters and the optimizer's state, on the device and on the host."""
    sums = {contents["tier"]: sum(contents["roles"].get(role, 0) for role in ("parameter", "optimizer_state"))
            for contents in plan["contents"]}
    return sums["dram"], sums.get("pcie3", 0)


def simulated(options, billions, ranks, way, batches=1):
    """A step of so many micro-batches a rank, in the paper's seconds and at the size of its model."""
    planner, more, _ = WAYS[way]
    more = [*more, "--keep-norm-outputs"]  # so that the passes' time is that of the ops that run
    samples = batches * paper_ratios.PAPER[billions][0]
    size = paper_ratios.PARAMETERS / (billions * 1e9)  # of the small model in the large one
    scale = types.SimpleNamespace(sluice=options.sluice, link=paper_ratios.LINK * size)
    if batches > 1:
        more = [*more, "--accumulate", str(batches)]
    network = network_of(ranks)
    with tempfile.TemporaryDirectory() as folder:
        step = paper_ratios.Simulated(scale, folder, more, paper_ratios.passes_of(billions, samples), billions, ranks,
                                      nodes_of(ranks)).run(planner, network=network and network * size)
    device, host = state_bytes(step)
    seconds, sent = step["predicted_ms"] / 1e3, sent_bytes(step["notes"]) / size
    return {"billions": billions, "ranks": ranks, "way": way, "simulated": True, "seconds": seconds,
            "samples_a_second": ranks * samples / seconds,
            "tflops_a_rank": paper_ratios.passes_of(billions, samples) * paper_ratios.FLOPS / seconds / 1e12,
            "device_state_bytes": device / size, "host_state_bytes": host / size, "sent_bytes": sent,
            "network_share": sent / network / seconds if network else 0}


def curve(options):
    rows = []
    for way in WAYS:
        for ranks in map(int, options.ranks.split(",")):
            rows.append(simulated(options, 10, ranks, way))
            progress(f"curve, {way}, {ranks} ranks: {rows[-1]['seconds']:.2f} s")
    return rows


def node(options):
    rows = []
    for billions in (1, 2, 4, 8):
        batches = 512 // NODE_RANKS // paper_ratios.PAPER[billions][0]
        row = {way: simulated(options, billions, NODE_RANKS, way, batches) for way in WAYS}
        rows.append({"billions": billions, "batches": batches, **row})
        progress(f"node, {billions} billion: {row['zero-offload']['seconds']:.2f} s")
    return rows


def exchanged():
    """The large tensors of a layer, in bytes of bf16: attention's four products, the feed-forward part's two."""
    return [2 * WIDTH * WIDTH] * 4 + [8 * WIDTH * WIDTH] * 2


def launched(ranks):
    return ["mpirun", "-n", str(ranks), "--bind-to", "none"]


def added_bandwidth(ranks):
    """Bytes a second that an exchange of the model's tensors costs beyond what its copies take in one process."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_collectives.py")
    sizes = ",".join(map(str, exchanged()))
    return json_of([*launched(ranks), sys.executable, script, "--bytes", sizes, "--sets", str(DEPTH)])["added"]


class Run:
    """One model, executed and predicted."""

    def __init__(self, options, case, cache):
        self.options = options
        self.words = [*VALIDATED, *CASES[case], "--cache-dir", cache]
        self.steps = str(max(20, round(options.seconds * 1e3 / self.predicted(1))))

    def predicted(self, ranks, bandwidth=None):
        """Milliseconds of a step."""
        between = ["--ranks", str(ranks), "--network", f"{bandwidth / 1e9}GB/s"] if ranks > 1 else []
        return json_of([self.options.sluice, "plan", *self.words, *between])["predicted_ms"]

    def command(self):
        return [self.options.sluice, "train", *self.words, "--no-validation", "--no-replan", "--steps", self.steps]

    def together(self, ranks):
        """Milliseconds of a step, the median of one run of so many ranks."""
        return json_of([*launched(ranks), *self.command()])["step_ms"]["median"]

    def beside(self, count):
        """The same of trainings that run at once and do not know of one another, their mean."""
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / f"{number}.json" for number in range(count)]
            with open(os.path.join(folder, "errors"), "w+") as errors:
                processes = [subprocess.Popen([*self.command(), "--json", file], stdout=subprocess.DEVNULL, stderr=errors)
                             for file in files]
                if any([process.wait() != 0 for process in processes]):  # a list, so that all of them have ended
                    errors.seek(0)
                    sys.exit(f"scaling_curve: {' '.join(self.command())}\n{errors.read()}")
            return statistics.mean(json.loads(file.read_text())["step_ms"]["median"] for file in files)


def others_busy(seconds=0.5):
    """Cores that other programs keep busy while this one waits."""
    def ticks():
        numbers = [int(each) for each in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return sum(numbers) - numbers[3] - numbers[4]  # but idle and waiting for disks
    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds


def rounds_of(run, ranks, count):
    """Of each contestant, its step in every round; and the network's bandwidth. Whoever is first changes from round to round."""
    contestants = {"alone": lambda: run.beside(1), "beside": lambda: run.beside(ranks), "ranks": lambda: run.together(ranks),
                   "bandwidth": lambda: added_bandwidth(ranks), "others_busy": others_busy}
    values = {name: [] for name in contestants}
    order = list(contestants)
    for _ in range(count):
        for name in order:
            values[name].append(contestants[name]())
        order = order[1:] + order[:1]
    return values


def summary(values, one, many):
    """What was measured, with quartiles over the rounds, against predicted steps of one rank and of many."""
    def over(above, below):
        ratios = [a / b for a, b in zip(values[above], values[below])]
        return {"median": statistics.median(ratios), "quartiles": list(quartiles(ratios))}
    measured = over("ranks", "alone")
    return {"measured": measured, "beside": over("beside", "alone"), "predicted": many / one,
            "error": many / one / measured["median"] - 1, "predicted_ms": {"alone": one, "ranks": many},
            "bandwidth": statistics.median(values["bandwidth"]), "rounds": values}


def validated(options, case, ranks):
    with tempfile.TemporaryDirectory() as cache:
        run = Run(options, case, cache)
        run.predicted(ranks, 1e9)  # measures the ops, so that no run does
        values = rounds_of(run, ranks, options.rounds)
        many = run.predicted(ranks, statistics.median(values["bandwidth"]))
        progress(f"validation, {case}, {ranks} ranks: done")
        return {"case": case, "ranks": ranks, "simulated": False, **summary(values, run.predicted(1), many)}


def not_timed(ranks):
    """Why not; nothing where every rank has a core."""
    cores = len(os.sched_getaffinity(0))
    return f"{ranks} ranks would share {cores} cores" if ranks > cores else ""


def validation(options):
    rows = []
    for ranks in map(int, options.executed.split(",")):
        if not_timed(ranks):
            rows.append({"ranks": ranks, "not_timed": not_timed(ranks)})
        else:
            rows += [validated(options, case, ranks) for case in CASES]
    return rows


def text_of_curve(rows):
    lines = ["simulated: GPT-2 of 10 billion parameters, 10 samples a rank and step, in the ratios of DGX-2 nodes of 16 ranks",
             f"{'ranks':>7}{'step s':>9}{'throughput':>12}{'efficiency':>12}{'TFLOPS a rank':>15}{'device state GB':>17}"
             f"{'host state GB':>15}{'sent GB':>9}{'network':>9}"]
    for way, (_, _, what) in WAYS.items():
        mine = [row for row in rows if row["way"] == way]
        lines.append(f"{way}: {what}")
        for row in mine:
            times = row["samples_a_second"] / mine[0]["samples_a_second"]
            lines.append(f"{row['ranks']:>7}{row['seconds']:>9.2f}{times:>11.2f}x{times * mine[0]['ranks'] / row['ranks']:>12.2f}"
                         f"{row['tflops_a_rank']:>15.1f}{row['device_state_bytes'] / 1e9:>17.1f}"
                         f"{row['host_state_bytes'] / 1e9:>15.1f}{row['sent_bytes'] / 1e9:>9.1f}{row['network_share']:>9.1%}")
    return "\n".join([*lines, PAPER_SAYS])


def text_of_node(rows):
    lines = ["simulated: one node of 16 ranks, 512 samples a step; throughput over everything on the device with the same batches",
             f"{'parameters':>12}{'batches a rank':>16}{'zero-offload':>14}{'clipped':>9}"]
    for row in rows:
        whole = row["on the device"]["seconds"]
        cells = [whole / row[way]["seconds"] for way in ("zero-offload", "clipped")]
        lines.append(f"{row['billions']:>4} billion{row['batches']:>16}{cells[0]:>14.2f}{cells[1]:>9.2f}")
    return "\n".join([*lines, "the paper (figure 5.9): up to 1.11 times ZeRO-2, by larger micro-batches than ZeRO-2 has room for"])


def text_of_validation(rows):
    lines = [f"executed: GPT-2 of width {WIDTH}, depth {DEPTH}; a step of N ranks over one of a rank alone, medians (quartiles) over rounds",
             f"{'a rank takes':<14}{'ranks':>6}{'alone ms':>10}{'ranks ms':>10}{'network':>11}{'predicted':>11}{'measured':>21}"
             f"{'error':>8}{'beside':>9}"]
    for row in rows:
        if "not_timed" in row:
            lines.append(f"{'':<14}{row['ranks']:>6}  not timed: {row['not_timed']}")
            continue
        low, high = row["measured"]["quartiles"]
        alone, ranks = (statistics.median(row["rounds"][each]) for each in ("alone", "ranks"))
        lines.append(f"{row['case']:<14}{row['ranks']:>6}{alone:>10.1f}{ranks:>10.1f}{row['bandwidth'] / 1e9:>6.2f} GB/s"
                     f"{row['predicted']:>10.2f}x{row['measured']['median']:>7.2f}x ({low:.2f}-{high:.2f}){row['error']:>+8.0%}"
                     f"{row['beside']['median']:>8.2f}x")
    lines.append("beside: as many trainings at once that do not know of one another, over one alone; no prediction has that")
    busy = max((statistics.median(row["rounds"]["others_busy"]) for row in rows if "rounds" in row), default=0)
    return "\n".join(lines + ([f"NOT IDLE: other programs kept {busy:.1f} cores busy, and these figures say nothing"] if busy > 0.1 else []))


PARTS = {"curve": (curve, text_of_curve), "node": (node, text_of_node), "validation": (validation, text_of_validation)}


def arguments():
    parser = parser_of(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="(default %(default)s)")
    parser.add_argument("--ranks", default="1,2,4,8,16,32,64,128", help="of the curve (default %(default)s)")
    parser.add_argument("--executed", default="2,4", help="ranks of the validation (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="of the validation, at least two (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=3, help="of steps in each run (default %(default)s)")
    return parser.parse_args()


def main():
    options = arguments()
    document = {}
    for name in options.parts.split(","):
        measure, text = PARTS[name]
        document[name] = measure(options)
        print(text(document[name]), flush=True)
    write_json(options.json, document)


if __name__ == "__main__":
    main()
