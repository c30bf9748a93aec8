#!/usr/bin/python3
"""The largest batch of each model in a budget, by planner, and its predicted throughput: HOME's table 2, Sentinel's table V.

    largest_batches.py [MODEL...] [--of PAPER] [--fast SIZE] [--planners P,...] [--binary BINARY] [--json OUT] [--help]

    largest_batches.py --json largest.json           HOME's six models in 11 GiB: some minutes
    largest_batches.py --of sentinel                 Sentinel's five in 15.75 GiB
    largest_batches.py plain20 --planners fast-only,home

Each cell is one `sluice max-batch`: bisection on verified plans; op times are measured at three small batches and scaled.
Nothing large is run: figures are predicted. HOME's images are as large as make a convolution's input as large as on
CIFAR-10. For Sentinel's table searches are cut short: what fits hardly depends on how well it is planned. Shown are
batches, each over the one with everything in fast memory, and geometric means over the models that every planner can
train.
"""

import statistics
import sys

from processes import answer_of, parser_of, write_json

PAPERS = {
    "home": {"fast": "11GiB", "planners": "fast-only,vdnn,superneurons,capuchin,home,sentinel,joint",
             "settings": ["--classes", "10", "--keep-norm-outputs"],
             "models": {"mobilenet_v1": ["--image-size", "64"], "plain20": [], "squeezenet1_1": ["--image-size", "128"],
                        "vgg16": ["--image-size", "32"], "resnet50": ["--image-size", "128"], "inception_v3": []}},
    "sentinel": {"fast": "15.75GiB", "settings": ["--keep-norm-outputs"],
                 "planners": "fast-only,sentinel:additions=none,sentinel,vdnn,swapadvisor:seconds=1,autotm-sync:seconds=5,"
                             "capuchin",
                 "models": {"lstm": [], "mobilenet_v1": ["--image-size", "32", "--classes", "100"], "dcgan": [],
                            "bert_large": [], "resnet200": ["--image-size", "32", "--classes", "10"]}}}
NOTHING = "fast-only"


def arguments():
    parser = parser_of(__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--of", choices=PAPERS, default="home", help="whose models, budget and planners (default %(default)s)")
    parser.add_argument("--fast", help="(default: the paper's)")
    parser.add_argument("--slow", default="pcie3:512GiB", help="(default %(default)s)")
    parser.add_argument("--planners", help="(default: the paper's)")
    options = parser.parse_args()
    paper = PAPERS[options.of]
    options.fast = options.fast or paper["fast"]
    options.planners = options.planners or paper["planners"]
    options.models = options.models or list(paper["models"])
    unknown = [model for model in options.models if model not in paper["models"]]
    if unknown:
        parser.error(f"unknown model {unknown[0]}; known: {', '.join(paper['models'])}")
    return options


def largest_batch(options, model, planner):
    """What max-batch says, or why it says nothing."""
    paper = PAPERS[options.of]
    command = [options.sluice, "max-batch", model, *paper["models"][model], *paper["settings"], "--slow",
               options.slow, "--fast", options.fast, "--planner", planner]
    answer, ran = answer_of(command)
    if answer is None:
        return {"model": model, "planner": planner, "batch": 0, "reason": ran.stderr.strip().splitlines()[-1]}
    return {**answer, "reason": None}


def table(rows, planners, models):
    """By model: batches, and in parentheses over the first planner's."""
    batch = {(row["model"], row["planner"]): row["batch"] for row in rows}
    whole = [model for model in models if all(batch[model, planner] for planner in planners)]
    lines = [["model", *planners]]
    for model in models:
        first = batch[model, planners[0]]
        lines.append([model, *(f"{batch[model, p]} ({batch[model, p] / first:.2f}x)" if batch[model, p] and first else "-"
                               for p in planners)])
    if whole:
        means = [statistics.geometric_mean([batch[model, p] / batch[model, planners[0]] for model in whole]) for p in planners]
        lines.append([f"geometric mean of {len(whole)}", *(f"{mean:.2f}x" for mean in means)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def main():
    options = arguments()
    planners = options.planners.split(",")
    rows = []
    for model in options.models:
        for planner in planners:
            rows.append(largest_batch(options, model, planner))
            write_json(options.json, {"fast": options.fast, "slow": options.slow, "rows": rows})
            print(f"{model} {planner}: {rows[-1]['batch']} {rows[-1]['reason'] or ''}".rstrip(), file=sys.stderr)
    print(f"largest batches in {options.fast}, predicted")
    print(table(rows, planners, options.models))
    errors = [abs(row["scaling_error"]) for row in rows if row["batch"]]
    if errors:
        print(f"op times scaled from small batches: the smaller ones miss the largest by up to {100 * max(errors):.0f} %")


if __name__ == "__main__":
    main()
