#!/usr/bin/python3
"""How good every planner's plans are on kept problems and machines, which no machine can disturb: a table of simulated steps over
fast-only's, the bound, bytes moved, time to plan (benchmarks/planners/planner_table.cpp).

    planner_table.py FOLDER [--planners sentinel,joint] [--problems lstm,vgg16] [--machines 1,2] [--budgets 20,40] [--json FILE]
    planner_table.py FOLDER ... --against FILE      ends with 1 where a plan is slower than its row of an earlier --json
    planner_table.py FOLDER ... --against kept      the same, of the rows kept in docs/results
    planner_table.py --show FILE...                 rows of earlier runs together, without planning

FOLDER holds problems (keep_problem). What a planner's integer program comes to is a column of its own, and every planner's distance
to that a row below.
"""
import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

from reproducing.papers import text_table
from reproducing.records import numbers

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build/release/benchmarks/planners/planner_table")
EXPECTS = " expects"
# A last digit of a linear program, rounded otherwise by another processor, may decide between two plans that are about as good under
# noise and differ by a per cent or two without.
NO_WORSE = 1.025


def with_expectations(rows):
    """What a planner's program expects is a row like that of a plan, behind all of those."""
    return rows + [{**row, "planner": row["planner"] + EXPECTS, "slowdown": row["expected"]} for row in rows if row.get("expected", 0) > 0]


def gap_text(rows, bound):
    gaps = [row["slowdown"] / row[bound] - 1 if row[bound] > 0 else 0 for row in rows if row["bound"] > 0]
    return f"{100 * statistics.fmean(gaps):.1f} %" if gaps else ""


def group_table(rows):
    """Of one machine and budget: a problem a row, a planner a column, means below."""
    rows = with_expectations(rows)
    problems, planners = (list(dict.fromkeys(row[key] for row in rows)) for key in ("problem", "planner"))
    found = {(row["problem"], row["planner"]): row for row in rows if "failure" not in row}

    def problem_cells(problem):
        cells, bounds = [problem], []
        for row in (found.get((problem, planner)) for planner in planners):
            raised = row is not None and 0 < row["asked_bytes"] < row["budget_bytes"]
            cells.append("none" if row is None else f"{row['slowdown']:.3f}{'*' if raised else ''}")
            bounds += [row["bound"]] if row and row["bound"] > 0 and not raised else []
        return [*cells, f"{min(bounds):.3f}" if bounds else ""]

    def summary(title, text_of, programs=None):
        """A cell for each planner, or for only the programs, or for all but those."""
        cells = []
        for planner in planners:
            plans = [found[problem, planner] for problem in problems if (problem, planner) in found]
            cells.append(text_of(plans) if plans and programs in (None, planner.endswith(EXPECTS)) else "")
        return [title, *cells, ""]

    def over(program):
        def text_of(plans):
            logs = [math.log(row["slowdown"] / found[row["problem"], program]["slowdown"])
                    if (row["problem"], program) in found else 0 for row in plans]
            return f"{100 * (math.exp(statistics.fmean(logs)) - 1):+.1f} %"
        return summary(f"over what {program}", text_of)

    lines = [problem_cells(problem) for problem in problems]
    lines += [summary("geometric mean", lambda plans: f"{statistics.geometric_mean([row['slowdown'] for row in plans]):.3f}"),
              summary("mean gap", lambda plans: gap_text(plans, "bound")), summary("in its order", lambda plans: gap_text(plans, "order_bound"))]
    if programs := [planner for planner in planners if planner.endswith(EXPECTS)]:
        lines += [over(program) for program in programs]
        lines += [summary("solver's gap, worst", lambda plans: f"{100 * max(0, *(1 - row['proved'] / row['slowdown'] for row in plans)):.1f} %", True),
                  summary("solved again", lambda plans: f"{sum(row['solved'] > 1 for row in plans)} of {len(plans)}", True)]
    lines += [summary("GiB moved, mean", lambda plans: f"{statistics.fmean(row['moved_bytes'] for row in plans) / 2 ** 30:.2f}", False),
              summary("s to plan, mean", lambda plans: f"{statistics.fmean(row['planning_seconds'] for row in plans):.2f}", False)]
    head = ["", *planners, "bound"]
    return text_table(head, lines, head[1:])


def tables(rows):
    def setting(row):
        return row["machine"], row["percent"]

    texts = [f"{machine}, {percent} % of what everything takes (simulated)\n\n{group_table(list(group))}\n"
             for (machine, percent), group in itertools.groupby(sorted(rows, key=setting), setting)]
    return "\n".join(texts) + "\nslowdown over fast-only; *: with the smallest budget that the planner can use, which is more"


def name_of(row):
    return f"{row['problem']}, {row['machine']}, {row['percent']} %, {row['planner']}"


def worse_than(kept, rows):
    """Why rows are worse than those of the same name that are kept; a row that is not kept is no worse."""
    now, worse = {name_of(row): row for row in rows}, []
    for before in kept:
        row = now.get(name_of(before)) if "slowdown" in before else None
        if row and "failure" in row:
            worse.append(f"{name_of(row)}: {row['failure']}")
        elif row and row["slowdown"] > NO_WORSE * before["slowdown"]:
            worse.append(f"{name_of(row)}: {row['slowdown']:.3f}, before {before['slowdown']:.3f}")
    return worse


def rows_in(file):
    with open(file) as stream:
        return json.load(stream)["rows"]


def planned(options, more):
    with tempfile.TemporaryDirectory() as folder:
        file = options.json or os.path.join(folder, "rows.json")
        status = subprocess.run([options.program, *more, "--json", file], check=False).returncode
        if status != 0:
            sys.exit(status)
        return rows_in(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="also write the rows to this file, anew after every problem")
    parser.add_argument("--against", help="an earlier --json, or kept")
    parser.add_argument("--show", nargs="+", metavar="FILE", help="rows of earlier runs")
    parser.add_argument("--program", default=PROGRAM, help="planner_table as built (default: of the release build)")
    options, more = parser.parse_known_args()
    rows = [row for file in options.show for row in rows_in(file)] if options.show else planned(options, more)
    print(tables(rows))
    if not options.against:
        return 0
    kept = [row for row in numbers("planners")["rows"] if row] if options.against == "kept" else rows_in(options.against)
    worse = worse_than(kept, rows)
    for each in worse:
        print(f"worse: {each}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
