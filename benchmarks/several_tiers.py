#!/usr/bin/python3
"""What a memory between fast memory and the disk is worth: steps with it and without it, in turn.

    several_tiers.py [MODEL:BATCH...] [--fast SHARE] [--near TIER:SHARE] [--rounds N] [--binary BINARY] [--threads T]
                     [--spill-dir FOLDER] [--json OUT] [--help]

    several_tiers.py --json tiers.json                      three models, about five minutes
    several_tiers.py resnet50:8 --rounds 4 --near pmbd:50%

Each contestant is a process that trains the model with a plan of sentinel: in --fast of its memory and a file; with the
near tier between them, filled first come, first served; the same, filled as sentinel does by itself. A fourth has
everything in fast memory. Every round each takes a step, in an order that rotates; those that wait are stopped. Shown are
medians with quartiles, and the median over rounds of each round's time by that without the near tier. Shares are of what
everything takes. The near tier is emulated, unless it is a memory node.
"""

import contextlib
import json
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "rivals"))
from contestants import (Contestant, Lost, contest_parser, environment, rotated, run_script, sluice_plan,  # noqa: E402
                         workload_settings, write_json)

WORKLOADS = ["resnet50:16", "bert_base:8", "mobilenet_v2:32"]
WARM_UP = 2
FIRST_COME = "sentinel:additions=choice+staying+in-place+ahead+lending"


def arguments():
    parser = contest_parser(__doc__)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, metavar="MODEL:BATCH")
    parser.add_argument("--fast", default="15%", help="(default 15%%)")
    parser.add_argument("--near", default="optane:25%", help="a tier and its share")
    parser.add_argument("--rounds", type=int, default=12, help="(default %(default)s)")
    options = parser.parse_args()
    if options.rounds < 3 or options.threads < 1 or not options.near.endswith("%"):
        parser.error("--rounds must be at least 3, --threads at least 1, and --near TIER:SHARE% such as optane:25%")
    return options


def plan(options, settings, planner, folder, budget=None, tiers=("file",)):
    os.makedirs(folder, exist_ok=True)
    setup = sluice_plan(options, settings, planner, budget, folder, tiers=tiers)
    with open(setup["plan"]) as file:
        return setup, json.load(file)


def contestants(options, settings, folder):
    """Name, setup and plan of each. The near tier's share is turned into bytes, which a machine has."""
    baseline, whole = plan(options, settings, "fast-only", os.path.join(folder, "all"))
    tier, share = options.near.rstrip("%").rsplit(":", 1)
    near = (f"{tier}:{int(float(share) / 100 * whole['arena_bytes'][0]) // 4096 * 4096}", "file")
    with_near = os.path.join(folder, "near")
    return [("fast-only", baseline, whole),
            ("disk", *plan(options, settings, "sentinel", os.path.join(folder, "disk"), options.fast)),
            ("near, first come", *plan(options, settings, FIRST_COME, with_near, options.fast, near)),
            ("near, by price", *plan(options, settings, "sentinel", with_near, options.fast, near))]


def run_rounds(processes, rounds):
    for index in range(rounds):
        for process in rotated(processes, index):
            process.step(len(process.losses), counted=True)


def summary(process, made, disk):
    first, median, third = statistics.quantiles(process.seconds, n=4)
    ratios = [mine / theirs for mine, theirs in zip(process.seconds, disk.seconds)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {"name": process.name, "planner": made["planner"], "median_ms": median * 1e3,
            "quartiles_ms": [first * 1e3, third * 1e3], "of_disk": {"median": middle, "quartiles": [low, high]},
            "predicted_ms": made["predicted_step_seconds"] * 1e3, "arena_bytes": made["arena_bytes"],
            "step_ms": [seconds * 1e3 for seconds in process.seconds]}


def describe(rows):
    lines = [f"{'':18}{'step':>10}{'quartiles':>22}{'predicted':>12}   of disk              arenas, MiB"]
    for row in rows:
        low, high = row["quartiles_ms"]
        near, far = row["of_disk"]["quartiles"]
        arenas = " + ".join(f"{arena / 2**20:.0f}" for arena in row["arena_bytes"])
        lines.append(f"{row['name']:18}{row['median_ms']:7.1f} ms{low:10.1f} to {high:6.1f} ms{row['predicted_ms']:9.1f} ms"
                     f"   {row['of_disk']['median']:.3f} ({near:.3f} to {far:.3f})  {arenas}")
    return "\n".join(lines)


def measure(workload, options, folder):
    model, batch = workload.split(":")
    with contextlib.ExitStack() as stack:
        planned = contestants(options, workload_settings(model, int(batch)), folder)
        processes = []
        for name, setup, _ in planned:
            processes.append(Contestant(name, [options.sluice, "worker"], setup))
            stack.callback(processes[-1].end)
            for index in range(WARM_UP):
                processes[-1].step(index, counted=False)
        run_rounds(processes, options.rounds)
        if any(process.losses != processes[0].losses for process in processes):
            raise Lost(workload, "the losses differ")
        rows = [summary(process, made, processes[1]) for process, (_, _, made) in zip(processes, planned)]
        print(describe(rows))
        return {"workload": workload, "contestants": rows, "losses": processes[0].losses}


def main():
    options = arguments()
    about = {**environment(), "threads": options.threads, "rounds": options.rounds, "fast": options.fast,
             "near": options.near, "emulated": not options.near.startswith("numa")}
    print(f"{options.threads} threads, {options.rounds} rounds, {options.fast} fast, near tier {options.near}"
          f"{' (emulated)' if about['emulated'] else ''}, {about['cpu']}, commit {about['commit']}")
    results = []
    for workload in options.workloads:
        print(f"\n{workload}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(workload, options, folder))
    write_json(options.json, {**about, "workloads": results})


if __name__ == "__main__":
    run_script(main)
