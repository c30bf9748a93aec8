#!/usr/bin/python3
"""How well steps were predicted, over kept results of `sluice compare`.

    prediction_errors.py [FILE.json...] [--rows]

Without files, which are what `--json` writes: all that is kept in docs/results. A prediction is compared as a ratio, predicted over measured slowdown against
fast-only of the same run, less one: drift of the machine between profiling and running is no error of the model. The
absolute error of the step stands beside it. fast-only's own rows do not count, their ratio is 1 by definition, nor do
files that are not comparisons. --rows also prints every row.
"""

import argparse
import os
import statistics
import sys

from reproducing.records import documents_of

BASELINE = "fast-only"


def rows_of(document):
    """(planner, error of the ratio, error of the step) of every row of a comparison that ran, but the baseline's."""
    if not isinstance(document, dict):
        return []
    rows = [row for row in document.get("results", []) if isinstance(row, dict) and "predicted_ms" in row]
    baseline = next((row for row in rows if row.get("planner") == BASELINE), None)
    if baseline is None:
        return []
    return [(row["planner"],
             row["predicted_ms"] / baseline["predicted_ms"] / row["slowdown"] - 1,
             row["predicted_ms"] / row["step_ms"]["median"] - 1)
            for row in rows if row is not baseline]


def describe(what, errors):
    sizes = [abs(error) for error in errors]
    return (f"{what}: mean {100 * statistics.fmean(sizes):.1f} %, median {100 * statistics.median(sizes):.1f} %, "
            f"max {100 * max(sizes):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE.json")
    parser.add_argument("--rows", action="store_true", help="every row, the worst first")
    options = parser.parse_args()
    found = []
    for path, document in documents_of(options.files):
        found += [(os.path.basename(path), *row) for row in rows_of(document)]
    if not found:
        sys.exit("prediction_errors: no comparison among these files")
    if options.rows:
        width = max(len(name) for name, *_ in found)
        print(f"{'file':{width}}  {'planner':16} {'ratio':>8} {'step':>8}")
        for name, planner, ratio, step in sorted(found, key=lambda row: -abs(row[2])):
            print(f"{name:{width}}  {planner:16} {100 * ratio:+7.1f}% {100 * step:+7.1f}%")
    print(f"{len(found)} rows of {len({name for name, *_ in found})} comparisons")
    print(describe("ratio to fast-only", [ratio for _, _, ratio, _ in found]))
    print(describe("step time", [step for *_, step in found]))


if __name__ == "__main__":
    main()
