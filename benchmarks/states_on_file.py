#!/usr/bin/python3
"""What it costs to have less host memory than the optimizer's states take, and the rest of them in a file (zero-offload).

    states_on_file.py [--rounds N] [--steps N] [--shares A,B,...] [--spill-dir DIR] [--binary BINARY] [--json OUT] [--help]
                      [MODEL-WORD...]

Two processors of a core each, device and host (emulated), the optimizer on the host. Each round trains with the host memory
that everything takes, and with shares of it, in turn; shown are what lies on file, medians of the rounds' median steps, and
how many times as long as with everything in host memory: measured (median, least and most) and predicted. Ends with an error
where the parameters' bits differ.
"""

import argparse
import statistics
import sys

from processes import json_of, parser_of, spread, write_json

MODEL = ["gpt2_small", "--batch", "4", "--sequence", "64", "--classes", "2000", "--width", "512", "--depth", "6"]
COMMON = ["--optimizer", "adamw", "--precision", "bf16-masters", "--no-validation", "--processors", "device:1,host:1:pcie3",
          "--planner", "zero-offload"]


def arguments():
    parser = parser_of(__doc__)
    parser.add_argument("model", nargs=argparse.REMAINDER, help="last, as sluice train takes it (default: GPT-2 of 19 million parameters)")
    parser.add_argument("--rounds", type=int, default=5, help="(default %(default)s)")
    parser.add_argument("--steps", type=int, default=12, help="of each run (default %(default)s)")
    parser.add_argument("--shares", default="0.75,0.45,0.27", help="of the host memory that all takes (default %(default)s)")
    parser.set_defaults(spill_dir="/var/tmp")
    return parser.parse_args()


def train(options, host_bytes):
    """The JSON of a run with so much host memory; None: with what everything takes."""
    memory = "pcie3" if host_bytes is None else f"pcie3:{host_bytes}"
    return json_of([options.sluice, "train", *(options.model or MODEL), *COMMON, "--slow", memory, "--slow", "file",
                    "--spill-dir", options.spill_dir, "--steps", options.steps])


def row_of(runs, all_runs):
    config = dict(runs[0]["planner_config"])
    slower = [run["step_ms"]["median"] / other["step_ms"]["median"] for run, other in zip(runs, all_runs)]
    return {"host_bytes": runs[0]["arena_bytes"][1], "file_bytes": runs[0]["arena_bytes"][2],
            "host_bytes_per_parameter": float(config["host_bytes_per_parameter"]),
            "file_bytes_per_parameter": float(config.get("file_bytes_per_parameter", 0)),
            "step_ms": [run["step_ms"]["median"] for run in runs],
            "slower": spread(slower),
            "predicted_slower": runs[0]["predicted_ms"] / all_runs[0]["predicted_ms"],
            "peak_rss_bytes": max(run["peak_rss_bytes"] for run in runs)}


def text_of(row):
    mebi, slower = 2**20, row["slower"]
    return (f"{row['host_bytes'] / mebi:>10.1f}{row['host_bytes_per_parameter']:>8.2f}{row['file_bytes'] / mebi:>10.1f}"
            f"{row['file_bytes_per_parameter']:>8.2f}{row['peak_rss_bytes'] / mebi:>9.0f}"
            f"{statistics.median(row['step_ms']):>10.1f}{slower['median']:>8.2f}x"
            f" ({slower['least']:.2f}-{slower['most']:.2f}){row['predicted_slower']:>9.2f}x")


def main():
    options = arguments()
    whole = train(options, None)["arena_bytes"][1]
    sizes = [None, *(int(float(share) * whole) for share in options.shares.split(","))]
    runs = {size: [] for size in sizes}
    for number in range(options.rounds):
        for size in sizes if number % 2 == 0 else sizes[::-1]:
            runs[size].append(train(options, size))
    hashes = {run["parameter_hash"] for of_size in runs.values() for run in of_size}
    rows = [row_of(runs[size], runs[None]) for size in sizes]
    print(f"{' '.join(options.model or MODEL)}: {options.rounds} rounds of {options.steps} steps; device and host are a core "
          "each, emulated")
    print(f"{'host MiB':>10}{'B/par.':>8}{'file MiB':>10}{'B moved':>8}{'RSS MiB':>9}{'step ms':>10}{'slower':>9}"
          f"{'':>12}{'predicted':>10}")
    for row in rows:
        print(text_of(row))
    write_json(options.json, {"rows": rows, "run": runs[None][0]["run"]})
    if len(hashes) > 1:
        sys.exit("states_on_file.py: the parameters' bits differ")
    print("parameters: the same bits in all runs")


if __name__ == "__main__":
    main()
