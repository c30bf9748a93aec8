#!/usr/bin/python3
"""Trains with sluice.offload and without it, with dropout, and compares all losses and the parameters at the end.

    same_bits.py [--steps 50] [--json OUT] [--spill-dir DIR] [CASE...]

A case is MODEL:BATCH:BUDGET:OPTIMIZER; by default those of docs/python.md at sizes that fit 50 steps into some minutes.
Each side is a process of its own with the same seeds (pytorch_step.py). Exit status 1 where one bit differs, or where
nothing left memory; 77 when PyTorch is not installed.
"""

import json
import os
import sys

from contestants import HERE, PYTHON, environment, parser_of, require_pytorch, run_well, write_json

CASES = ("resnet50:4:60MiB:sgd", "bert_base:1:60MiB:adamw", "gpt2_small:1:80MiB:adamw", "depth_drawn:8:80MiB:sgd",
         "early_exits:8:80MiB:sgd")
DROPOUT = "0.1"


def arguments():
    parser = parser_of(__doc__)
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--steps", type=int, default=50)
    return parser.parse_args()


def train(options, case, mode):
    """The losses of all steps, and the last line: peak, hash, what left."""
    model, batch, budget, optimizer = case.split(":")
    command = [PYTHON, os.path.join(HERE, "pytorch_step.py"), model, "--batch", batch, "--steps", str(options.steps), "--mode",
               mode, "--fast", budget, "--optimizer", optimizer, "--layout", "nchw", "--dropout", DROPOUT, "--core", "",
               "--spill", os.path.join(options.spill_dir, "same-bits.spill")]
    lines = [json.loads(line) for line in run_well(command).stdout.splitlines()]
    return [line["loss"] for line in lines if "loss" in line], lines[-1]


def compare(options, case):
    plain, plain_end = train(options, case, "plain")
    ours, our_end = train(options, case, "offload")
    return {"case": case, "steps": len(plain), "same_losses": plain == ours, "last_loss": plain[-1],
            "same_parameters": plain_end["parameter_hash"] == our_end["parameter_hash"],
            "left_bytes": our_end["left_bytes"], "plain_peak_rss_bytes": plain_end["peak_rss_bytes"],
            "peak_rss_bytes": our_end["peak_rss_bytes"]}


def main():
    options = arguments()
    require_pytorch()
    os.makedirs(options.spill_dir, exist_ok=True)
    rows = []
    print(f"{'case':32} {'steps':>5} {'losses':>10} {'parameters':>10} {'left a step':>12} {'peak RSS':>10} {'plain':>10}")
    for case in options.cases:
        row = compare(options, case)
        rows.append(row)
        same = {True: "same bits", False: "DIFFER"}
        print(f"{case:32} {row['steps']:5} {same[row['same_losses']]:>10} {same[row['same_parameters']]:>10} "
              f"{row['left_bytes'] / 2**20:8.0f} MiB {row['peak_rss_bytes'] / 2**20:6.0f} MiB "
              f"{row['plain_peak_rss_bytes'] / 2**20:6.0f} MiB", flush=True)
    write_json(options.json, {**environment(), "dropout": float(DROPOUT), "cases": rows})
    if not all(row["same_losses"] and row["same_parameters"] and row["left_bytes"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
