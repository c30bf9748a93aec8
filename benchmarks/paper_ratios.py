#!/usr/bin/python3
"""ZeRO-Offload's figures 5.8 and 5.11 by simulation, in the ratios of the paper's machine.

    benchmarks/paper_ratios.py --json paper_ratios.json

A small GPT-2 whose op times are measured here, and then scaled: passes, updates on the device and updates on the host take,
beside the link, what they take in the paper for a model of that many parameters. Passes: 8 FLOPs a parameter and token (the
forward pass twice, as activations are made again) at 35 TFLOPS, between the paper's 30 and 40; updates: table 5.4; link: PCIe 3
at 12 GB/s. Passes have that time as a whole, so nobody makes anything again here. Nothing is executed; every figure is
simulated.

  throughput    a step of 512 samples in micro-batches of table 5.3: everything on the device, against zero-offload, and
                against l2l and swapadvisor in as much device memory
  delay         zero-offload with and without --delay-updates, a micro-batch of 8, gradients clipped
"""
import json
import pathlib
import sys
import tempfile

from largest_models import parameters
from processes import parser_of, run_well, write_json

TOKENS, FLOPS, LINK = 1024, 35e12, 12e9
# Parameters in billions: micro-batch (table 5.3), seconds of Adam on the host and on the device (table 5.4).
PAPER = {1: (32, 0.22, 0.10), 2: (32, 0.51, 0.26), 4: (32, 1.03, 0.64), 8: (16, 2.41, 0.87), 10: (10, 2.57, 1.00)}
MODEL = ["gpt2_small", "--batch", "4", "--sequence", "64", "--classes", "256", "--width", "256", "--depth", "6", "--optimizer",
         "adamw", "--precision", "bf16-masters", "--slow", "pcie3"]
PARAMETERS = parameters(256, 6, 256, 64)
PROCESSORS = "device:1,host:1:pcie3"  # the second one is the host


def sluice(arguments, *words):
    return run_well([arguments.sluice, *words]).stderr


def part_of(op):
    """Which part of a step an op belongs to, by its name."""
    last = op.split("/")[-1]
    if last.endswith((".reduce_scatter", ".all_gather")):
        return "between ranks"
    if last.endswith((".squared_sum", ".clip_factor")):
        return "norm"
    return "updates" if ".update" in last or ".accumulate" in op else "passes"


def scaled(profile, parts):
    """The profile with passes of parts['passes'] seconds a step, and updates of parts['device'] and parts['host']. A norm of the
    gradients comes on top, in its measured ratio to the updates; what goes between ranks takes the network's time alone."""
    part = [part_of(op["op"]) for op in profile["ops"]]

    def scale(seconds, updates):
        measured = {name: sum(each for each, its in zip(seconds, part) if its == name) for name in ("passes", "updates")}
        factors = {"passes": parts["passes"] / measured["passes"], "between ranks": 0}
        factors["updates"] = factors["norm"] = updates / measured["updates"]
        for i, its in enumerate(part):
            seconds[i] *= factors[its]
    for key in ("seconds", "cold_seconds"):
        values = [op[key] for op in profile["ops"]]
        scale(values, parts["device"])
        for op, value in zip(profile["ops"], values):
            op[key] = value
        for choice in profile["choices"]:
            scale(choice[key], parts["host" if choice["processor"] == 1 else "device"])
    return profile


def of_the_paper(link, billions):
    """Seconds of the paper's machine in one of ours: both links carry 2 bytes of each parameter of their model meanwhile."""
    return (2 * billions * 1e9 / LINK) / (2 * PARAMETERS / link)


class Simulated:
    """One graph, in the ratios of one model of the paper.

    Of several ranks each updates a part: on a device of its own, and on a host that all ranks of a node share. `updates`: seconds of
    Adam on the host and on the device, if not those of table 5.4."""

    def __init__(self, arguments, folder, options, passes, billions, ranks=1, nodes=1, processors=PROCESSORS, updates=None):
        self.arguments, self.folder = arguments, pathlib.Path(folder)
        self.options = [*options, "--processors", processors, *(["--ranks", str(ranks)] if ranks > 1 else [])]
        if arguments.link != LINK:
            self.options += ["--link-bandwidth", f"{arguments.link / 1e9}GB/s"]
        self.profile = self.folder / "profile.json"
        sluice(arguments, "profile", *MODEL, *self.options, "--save", self.profile)
        per_second = 1 / of_the_paper(arguments.link, billions)
        host, device = updates or PAPER[billions][1:]
        parts = {"passes": passes * per_second, "host": host / nodes * per_second, "device": device / ranks * per_second}
        self.profile.write_text(json.dumps(scaled(json.loads(self.profile.read_text()), parts)))

    def run(self, planner, fast=None, network=None):
        """The plan's JSON, and what the command says on standard error as its "notes"."""
        path = self.folder / "out.json"
        budget = ["--fast", str(fast), "--smallest-feasible"] if fast else []
        between = ["--network", f"{network / 1e9}GB/s"] if network else []
        notes = sluice(self.arguments, "plan", *MODEL, *self.options, "--estimate", "--profile", self.profile, "--planner", planner,
                       *budget, *between, "--json", path)
        return {**json.loads(path.read_text()), "notes": notes}


def passes_of(billions, samples):
    return 8 * billions * 1e9 * samples * TOKENS / FLOPS


def throughput(arguments, folder, billions):
    batches = 512 // PAPER[billions][0]
    case = Simulated(arguments, folder, ["--accumulate", str(batches)], passes_of(billions, 512), billions)
    everything = case.run("fast-only")
    offloaded = case.run("zero-offload")
    fast = offloaded["fast_arena_bytes"]
    row = {"billions": billions, "batches": batches}
    for name, ran in (("zero-offload", offloaded), ("l2l", case.run("l2l", fast)),
                      ("swapadvisor", case.run("swapadvisor:seconds=10", fast))):
        row[name] = {"of_everything": everything["predicted_ms"] / ran["predicted_ms"], "fast_bytes": ran["fast_arena_bytes"]}
    return row


def delay(arguments, folder, billions):
    case = ["--clip-norm", "1"]
    passes = passes_of(billions, 8)
    plain = Simulated(arguments, folder, case, passes, billions).run("zero-offload")
    delayed = Simulated(arguments, folder, [*case, "--delay-updates"], passes, billions).run("zero-offload")
    return {"billions": billions, "speedup": plain["predicted_ms"] / delayed["predicted_ms"]}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--models", default="1,2,4,8,10", help="billions of parameters")
    parser.add_argument("--link", type=float, default=12e9, help="bytes a second of the emulated link")
    arguments = parser.parse_args()
    rows = {"throughput": [], "delay": []}
    for billions in map(int, arguments.models.split(",")):
        for name, measure in (("throughput", throughput), ("delay", delay)):
            with tempfile.TemporaryDirectory() as folder:
                rows[name].append(measure(arguments, folder, billions))
            print(f"{name} {rows[name][-1]}", file=sys.stderr, flush=True)
    write_json(arguments.json, rows)
    print(f"{'parameters':<12}{'zero-offload':>14}{'l2l':>8}{'swapadvisor':>13}{'delayed':>10}   simulated; of everything on the device")
    for row, with_delay in zip(rows["throughput"], rows["delay"]):
        cells = [f"{row[name]['of_everything']:.2f}" for name in ("zero-offload", "l2l", "swapadvisor")]
        print(f"{row['billions']:>3} billion {cells[0]:>14}{cells[1]:>8}{cells[2]:>13}{with_delay['speedup']:>9.2f}x")


if __name__ == "__main__":
    main()
