#!/usr/bin/python3
"""Sentinel's figure 13: what each part of Sentinel-GPU is worth where ops must find everything in fast memory.

    sentinel_ablation.py [MODEL:BATCH...] [--slow TIER] [--fast SHARE] [--rivals] [--steps N] [--starts N]
                         [--binary BINARY] [--spill-dir FOLDER] [--json OUT] [--help]

    sentinel_ablation.py --json ablation.json              the paper's five models, a minute or two each
    sentinel_ablation.py resnet20:8 --steps 3 --starts 1

Each model is one `sluice compare` of the published planner with migration directly, by intervals, and with all of its
parts; then of sentinel with our additions. --rivals: beside those of the figure that are planners here. Everything is in
turn, by the same op times. Shown are medians, and where the time of the last step went, simulated and executed: exposed
is what ops waited for copies, and its share of the step; hidden is what the links did beside ops. Batches are smaller
than the paper's, and the slow tier is emulated.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKLOADS = ["resnet200:2", "bert_large:1", "lstm:20", "mobilenet_v1:16", "dcgan:32"]
WAYS = {"sentinel:additions=none:migration=direct": "direct",
        "sentinel:additions=none:migration=intervals": "+ intervals",
        "sentinel:additions=none": "+ reserved space: as published",
        "sentinel": "+ our additions"}
RIVALS = ["vdnn", "autotm-async", "swapadvisor", "capuchin"]
MIB = 1 << 20


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, metavar="MODEL:BATCH")
    parser.add_argument("--slow", default="pcie3", help="(default %(default)s)")
    parser.add_argument("--fast", default="40%", help="(default 40%%)")
    parser.add_argument("--rivals", action="store_true", help=f"also {', '.join(RIVALS)}")
    parser.add_argument("--steps", type=int, default=5, help="of each process (default %(default)s)")
    parser.add_argument("--starts", type=int, default=1, help="processes of each (default %(default)s)")
    parser.add_argument("--binary", default=os.path.join(ROOT, "build/release/tools/sluice"))
    parser.add_argument("--spill-dir", default=os.path.join(ROOT, "build"))
    parser.add_argument("--json", help="write the results to this file too")
    options = parser.parse_args()
    for workload in options.workloads:
        if len(workload.split(":")) != 2 or not workload.split(":")[1].isdigit():
            parser.error(f"'{workload}' is no MODEL:BATCH, such as {WORKLOADS[0]}")
    return options


def compare(options, workload):
    """The JSON of a comparison; ends the script where the command fails."""
    model, batch = workload.split(":")
    planners = list(WAYS) + (RIVALS if options.rivals else [])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "compare.json")
        command = [options.binary, "compare", model, "--batch", batch, "--slow", options.slow, "--fast", options.fast,
                   "--smallest-feasible", "--planners", ",".join(planners), "--steps", str(options.steps), "--starts",
                   str(options.starts), "--spill-dir", options.spill_dir, "--json", path]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"sentinel_ablation: {' '.join(command)}\n{ran.stderr}")
        with open(path) as file:
            return json.load(file)


def parts_of(parts):
    step = sum(value for name, value in parts.items() if name != "overlapped_transfer")
    return {"step_ms": step, "exposed_ms": parts["exposed_transfer"], "hidden_ms": parts["overlapped_transfer"],
            "recomputation_ms": parts["recomputation"], "exposed_share": parts["exposed_transfer"] / step}


def row_of(contestant):
    """A row of the table; one that could not run has its reason instead."""
    row = {"planner": contestant["planner"], "way": WAYS.get(contestant["planner"], contestant["planner"])}
    if "infeasible" in contestant:
        return {**row, "infeasible": contestant["infeasible"]}
    config = {entry[0]: entry[1] for entry in contestant["planner_config"]}
    return {**row, "step_ms": contestant["step_ms"]["median"], "slowdown": contestant["slowdown"],
            "predicted_slowdown": contestant["predicted_slowdown"], "interval_length": config.get("interval_length"),
            "simulated": parts_of(contestant["predicted_parts_ms"]), "executed": parts_of(contestant["measured_parts_ms"]),
            "in_mib": contestant["bytes_in"] / MIB, "out_mib": contestant["bytes_out"] / MIB,
            "budget_raised": contestant["budget_raised"],
            "same_bits": contestant["same_losses"] and contestant["same_parameters"]}


def summary_of(document):
    return {"model": document["model"], "batch": document["batch"], "fast": document["fast"], "run": document["run"],
            "rows": [row_of(each) for each in document["results"]]}


def text_of(summary):
    lines = [f"{summary['model']}, batch {summary['batch']}, {summary['fast']} fast",
             f"  {'':<32}{'step ms':>9}{'slowdown':>10}{'predicted':>11}{'exposed':>9}{'simulated':>11}{'hidden ms':>11}"
             f"{'in MiB':>9}{'out MiB':>9}  bits"]
    for row in summary["rows"]:
        if "infeasible" in row:
            lines.append(f"  {row['way']:<32}cannot run: {row['infeasible']}")
            continue
        raised = " *" if row["budget_raised"] else ""
        bits = "same" if row["same_bits"] else "DIFFER"
        lines.append(f"  {row['way'] + raised:<32}{row['step_ms']:>9.1f}{row['slowdown']:>9.3f}x"
                     f"{row['predicted_slowdown']:>10.3f}x{row['executed']['exposed_share']:>9.1%}"
                     f"{row['simulated']['exposed_share']:>11.1%}{row['executed']['hidden_ms']:>11.1f}"
                     f"{row['in_mib']:>9.1f}{row['out_mib']:>9.1f}  {bits}")
    if any(row.get("budget_raised") for row in summary["rows"]):
        lines.append("  * in more fast memory: the least that it can use")
    return "\n".join(lines)


def main():
    options = arguments()
    summaries = []
    for workload in options.workloads:
        summaries.append(summary_of(compare(options, workload)))
        print(text_of(summaries[-1]), flush=True)
        if options.json:
            with open(options.json, "w") as file:
                json.dump({"slow": options.slow, "models": summaries}, file, indent=1)
                file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
