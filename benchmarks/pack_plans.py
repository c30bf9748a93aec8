#!/usr/bin/python3
"""Plans of every planner, packed again into the least memory there can be (benchmarks/packing).

    pack_plans.py MODEL:BATCH... --json OUT [--sluice BINARY] [--spill-dir FOLDER]

A fifth of the memory is fast, or the least that the planner can use. A planner without a plan for a model is left out.
"""

import os
import subprocess
import sys
import tempfile

from processes import ROOT, parser_of, run

PACKING = os.path.join(ROOT, "build/release/benchmarks/packing/plan_packing")
PLANNERS = ["fast-only", "chen-sqrt", "first-touch", "on-demand", "redl", "sentinel", "deferred-updates", "joint"]
IN_PLACE = ("redl", "first-touch")  # planners whose ops use the slow tier where it is


def planned(arguments, folder, model, batch):
    """A plan of each planner: its file, and what it is of."""
    words = []
    for planner in PLANNERS:
        path = os.path.join(folder, f"{model}.{planner}.json")
        command = [arguments.sluice, "plan", model, "--batch", batch, "--fast", "20%", "--smallest-feasible", "--threads", "1",
                   "--planner", planner, "--slow", "pmbd" if planner in IN_PLACE else "file", "--spill-dir", arguments.spill_dir, "-o", path]
        if run(command).returncode == 0:
            words += [path, model, batch]
        else:
            print(f"pack_plans: no plan of {planner} for {model}", file=sys.stderr)
    return words


def main():
    parser = parser_of(__doc__)
    parser.add_argument("models", nargs="+", metavar="MODEL:BATCH")
    arguments = parser.parse_args()
    if not arguments.json:
        parser.error("--json says where the result goes")
    with tempfile.TemporaryDirectory(dir=arguments.spill_dir) as folder:
        plans = [word for each in arguments.models for word in planned(arguments, folder, *each.split(":"))]
        subprocess.run([PACKING, arguments.json, *plans], check=False)  # its status says whether packing won
    return 0 if os.path.exists(arguments.json) else 1


if __name__ == "__main__":
    sys.exit(main())
