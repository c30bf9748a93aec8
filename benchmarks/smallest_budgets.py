#!/usr/bin/python3
"""The smallest budget that `sentinel` can use, with ops sliced as usual and finer (--finer-slices).

    benchmarks/smallest_budgets.py [--models resnet50:16,lstm:20] [--finer 1,4,8] [--sluice build/release/tools/sluice]

Every budget is asked to be a hundredth of the memory and raised to the smallest that works (--smallest-feasible).
The last row is the geometric mean of the ratios to the usual slices.
"""
import statistics

from processes import json_of, parser_of, write_json

MODELS = ("resnet50:16,vgg16:8,inception_v3:8,densenet121:16,mobilenet_v1:32,mobilenet_v2:32,squeezenet1_1:32,"
          "googlenet:16,lstm:20,bert_base:8,gpt2_small:4,dcgan:128")


def smallest(arguments, model, batch, finer):
    """The plan's JSON."""
    return json_of([arguments.sluice, "plan", model, "--batch", batch, "--planner", "sentinel", "--fast", "1%",
                    "--smallest-feasible", "--finer-slices", finer, "--spill-dir", arguments.spill_dir])


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--finer", default="1,4,8")
    arguments = parser.parse_args()
    finer = [int(each) for each in arguments.finer.split(",")]
    print(f"{'model':<24}" + "".join(f"{f'slices / {each}':>14}" for each in finer) + "   MiB, and of everything",
          flush=True)
    rows, run = [], None
    for name in arguments.models.split(","):
        model, batch = name.split(":")
        plans = [smallest(arguments, model, batch, each) for each in finer]
        run = plans[0]["run"]
        budgets = [plan["budgets"][0] for plan in plans]
        rows.append({"model": model, "batch": int(batch), "finer": finer, "budgets": budgets,
                     "fast_only_bytes": plans[0]["fast_only_bytes"]})
        print(f"{model + ', batch ' + batch:<24}" + "".join(f"{each / 2**20:>14.1f}" for each in budgets) +
              "   " + ", ".join(f"{each / plans[0]['fast_only_bytes']:.1%}" for each in budgets), flush=True)
    means = [statistics.geometric_mean([row["budgets"][i] / row["budgets"][0] for row in rows]) for i in range(len(finer))]
    print(f"{'geometric mean ratio':<24}" + "".join(f"{each:>14.3f}" for each in means))
    write_json(arguments.json, {"run": run, "rows": rows, "geometric_mean_ratios": means})


if __name__ == "__main__":
    main()
