#!/usr/bin/python3
"""Whether `sluice compare` measures what `sluice train` does: the same model alone, both ways, in turn.

    train_agrees.py MODEL [--batch B] [--steps N] [--turns T] [--beside PLANNERS] [--tolerance SHARE] [-- OPTION...]

One turn is `sluice train --planner fast-only` and then `sluice compare`, whose fast-only has other contestants beside it
(--beside, default on-demand) that are stopped while it runs. Compared are the medians of all timed steps. They agree when
they differ by less than --tolerance (default 3 %), or by less than the medians of train's own turns do among each other.
Exit status 1 when they do not. Wants an idle machine, so it is no unit test. Options behind -- go to both commands.
"""

import json
import os
import statistics
import sys
import tempfile

from processes import json_of, parser_of, run_well

WARMUP = 2


def arguments():
    parser = parser_of(__doc__)
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=12, help="of each run, two of them warm-up (default 12)")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--beside", default="on-demand")
    parser.add_argument("--fast", default="30%", help="for those beside it (default 30%%)")
    parser.add_argument("--tolerance", type=float, default=0.03)
    parser.add_argument("options", nargs="*", help="for sluice")
    options = parser.parse_args()
    if options.steps <= WARMUP or options.turns < 1:
        parser.error("--steps must be above 2, --turns at least 1")
    return options


def train_ms(options, workload, folder):
    path = os.path.join(folder, "trace.json")
    run_well([options.sluice, "train", *workload, "--planner", "fast-only", "--steps", str(options.steps), "--losses", path])
    with open(path) as file:
        steps = [json.loads(line) for line in file]
    return [step["step_ms"] for step in steps[WARMUP:]]


def compare_ms(options, workload):
    rows = json_of([options.sluice, "compare", *workload, "--planners", options.beside, "--fast", options.fast, "--starts", "1",
                    "--steps", str(options.steps)])["results"]
    return next(row["round_ms"] for row in rows if row["planner"] == "fast-only")


def main():
    options = arguments()
    workload = [options.model, "--batch", str(options.batch), *options.options]
    trained, compared = [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.turns):
            trained.append(train_ms(options, workload, folder))
            compared.append(compare_ms(options, workload))
            print(f"turn {turn + 1}: train {statistics.median(trained[-1]):.1f} ms, "
                  f"compare {statistics.median(compared[-1]):.1f} ms", flush=True)
    medians = [statistics.median(steps) for steps in trained]
    own = max(medians) / min(medians) - 1
    train, compare = (statistics.median(sum(turns, [])) for turns in (trained, compared))
    apart = compare / train - 1
    agrees = abs(apart) <= max(options.tolerance, own)
    print(f"{options.model}, batch {options.batch}: train {train:.1f} ms, compare's fast-only {compare:.1f} ms, "
          f"{100 * apart:+.1f} % apart; train's turns differ by {100 * own:.1f} %: "
          f"{'they agree' if agrees else 'THEY DO NOT AGREE'}")
    sys.exit(0 if agrees else 1)


if __name__ == "__main__":
    main()
