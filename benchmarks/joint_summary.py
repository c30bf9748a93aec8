#!/usr/bin/python3
"""One table for each group of kept comparisons of joint with sentinel (`reproduce.py joint_NAME`, joint40_NAME and so on).

    joint_summary.py [FILE.json...] [--json FILE]

Without files, which are what `sluice compare --json` writes: what is kept of joint*_* in docs/results. Slowdowns are against fast-only of the same rounds. `ratio` is the median of
joint's step by sentinel's step of the same round: below 1 joint is faster. Its interval of 95 % is between two of the
sorted ratios, as many steps from their ends as chance allows (sign test): it assumes nothing of how steps scatter, and
takes six rounds. `predicted`, its error, `bound` (as a slowdown), the `gap` between them as planned and the most that
the process had resident beyond its budget are joint's.
"""

import argparse
import math
import os
import statistics
import sys

from processes import write_json
from reproducing.records import documents_of

GROUPS = {"joint40": "40 % of the memory", "joint_least": "the least memory each can do with",
          "joint_1GBs": "20 %, links of 1 GB/s", "joint_optane": "20 %, emulated Optane", "joint_onnx": "20 %, from ONNX",
          "joint_xeon": "20 %, a Xeon",
          "joint_slow_host": "20 %, a host that serves the disk on these processors", "joint": "20 % of the memory"}
MOST_CHANCE = 0.05


def group_of(path):
    name = os.path.basename(path)
    return next((group for group in GROUPS if name.startswith(group + "_")), None)


def interval_of(values):
    """95 % interval of the median, or None where there are too few values for one."""
    values, beyond, chance = sorted(values), 0, 0.0
    while True:
        chance += 2 * math.comb(len(values), beyond) / 2 ** len(values)
        if chance > MOST_CHANCE:
            break
        beyond += 1
    return (values[beyond - 1], values[-beyond]) if beyond else None


def row_of(document):
    """A row of the table; None where sentinel or joint did not run."""
    rows = {row["planner"]: row for row in document.get("results", []) if "slowdown" in row}
    if not {"fast-only", "sentinel", "joint"} <= rows.keys():
        return None
    joint, sentinel = rows["joint"], rows["sentinel"]
    ratios = [ours / theirs for ours, theirs in zip(joint["round_ms"], sentinel["round_ms"], strict=True)]
    return {"model": f"{document['model']}, batch {document['batch']}",
            "rounds": len(ratios),
            "sentinel": sentinel["slowdown"],
            "joint": joint["slowdown"],
            "ratio": statistics.median(ratios),
            "interval": interval_of(ratios),
            "predicted": joint["predicted_slowdown"],
            "error": joint["predicted_slowdown"] / joint["slowdown"] - 1,
            "bound": joint["scaled_bound_ms"] / rows["fast-only"]["step_ms"]["median"],
            "gap": joint["predicted_ms"] / joint["lower_bound_ms"] - 1 if joint["lower_bound_ms"] else None,
            "budget_mib": joint["fast_budget_bytes"] / 2 ** 20,
            "beyond_budget_mib": (joint["peak_rss_bytes"] - joint["fast_budget_bytes"]) / 2 ** 20,
            "same_bits": joint["same_losses"] and joint["same_parameters"]}


def totals_of(rows):
    gaps = [row["gap"] for row in rows if row["gap"] is not None]
    return {"geometric_mean": {key: statistics.geometric_mean([row[key] for row in rows])
                               for key in ("sentinel", "joint", "ratio", "predicted")},
            "mean_error": statistics.fmean(abs(row["error"]) for row in rows),
            "mean_gap": statistics.fmean(gaps) if gaps else None,
            "worst": {"ratio": max(row["ratio"] for row in rows), "error": max((row["error"] for row in rows), key=abs),
                      "gap": max(gaps, default=None), "beyond_budget_mib": max(row["beyond_budget_mib"] for row in rows)}}


def percent(value):
    return "-" if value is None else f"{100 * value:+.1f} %"


def text_of(title, rows, totals):
    lines = [f"{title}",
             f"{'':26}{'sentinel':>9}{'joint':>8}{'ratio':>8}  {'95 % interval':16}{'predicted':>9}{'error':>9}{'bound':>8}"
             f"{'gap':>9}{'RSS beyond MiB':>16}"]
    for row in rows:
        interval = "{:.3f} to {:.3f}".format(*row["interval"]) if row["interval"] else "-"
        lines.append(f"{row['model']:26}{row['sentinel']:9.3f}{row['joint']:8.3f}{row['ratio']:8.3f}  {interval:16}"
                     f"{row['predicted']:9.3f}{percent(row['error']):>9}{row['bound']:8.3f}{percent(row['gap']):>9}"
                     f"{row['beyond_budget_mib']:16.0f}{'' if row['same_bits'] else '  BITS DIFFER'}")
    mean, worst = totals["geometric_mean"], totals["worst"]
    lines.append(f"{'geometric mean, mean':26}{mean['sentinel']:9.3f}{mean['joint']:8.3f}{mean['ratio']:8.3f}  {'':16}"
                 f"{mean['predicted']:9.3f}{percent(totals['mean_error']):>9}{'':8}{percent(totals['mean_gap']):>9}")
    lines.append(f"{'worst':26}{'':17}{worst['ratio']:8.3f}  {'':25}{percent(worst['error']):>9}{'':8}"
                 f"{percent(worst['gap']):>9}{worst['beyond_budget_mib']:16.0f}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE.json")
    parser.add_argument("--json", metavar="FILE", help="write the same there")
    options = parser.parse_args()
    found = {}
    for path, document in documents_of(options.files, "joint"):
        if (group := group_of(path)) is None:
            sys.exit(f"joint_summary: '{path}' is of no group: names begin with {', '.join(GROUPS)} and _")
        if row := row_of(document):
            found.setdefault(group, []).append(row)
    if not found:
        sys.exit("joint_summary: no comparison of sentinel with joint among these files")
    summary = {}
    for group in sorted(found):
        rows = sorted(found[group], key=lambda row: -row["joint"])
        summary[group] = {"title": GROUPS[group], "rows": rows, **totals_of(rows)}
        print(text_of(f"{group}: {GROUPS[group]}", rows, summary[group]) + "\n")
    write_json(options.json, summary)


if __name__ == "__main__":
    main()
