#!/usr/bin/python3
"""ZeRO-Offload's table 5.1 for a model of ours: what stays on the device, by what is on the host.

    benchmarks/offload_strategies.py --json offload_strategies.json

The derivation is the planner's own (sluice/planners/zero_offload/strategy.hpp); it goes by the step's data flow, so nothing is
measured or executed. Shown are model states, parameters with a master alone: bytes that stay, how many times fewer that is than
with everything on the device, and what crosses the link in a step, as a share of all model states. The plan is made as well:
what it really keeps on the device of parameters and the optimizer's states, and of gradients at their peak.
"""
import re

from processes import json_of, parser_of, write_json

MODEL = ["gpt2_1b", "--batch", "1", "--width", "1024", "--depth", "24", "--sequence", "256", "--optimizer", "adamw", "--precision",
         "bf16-masters", "--slow", "pcie3", "--processors", "device:1,host:1:pcie3"]
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
DESCRIBED = re.compile(r"(.*): ([0-9.]+) (\w+) of model states stay, ([0-9.]+) (\w+) a step over the link")


def strategies(config):
    """Of a plan's planner_config: every assignment that sends least, everything on the device first."""
    rows = []
    for key, text in config:
        if not key.startswith("on_host_"):
            continue
        on_host, stays, stays_unit, sent, sent_unit = DESCRIBED.fullmatch(text).groups()
        rows.append({"on_host": on_host, "stays_bytes": float(stays) * UNITS[stays_unit], "link_bytes": float(sent) * UNITS[sent_unit]})
    whole = rows[0]["stays_bytes"]
    for row in rows:
        row["reduction"] = whole / row["stays_bytes"]
        row["link_share"] = row["link_bytes"] / whole
    return rows


def main():
    parser = parser_of(__doc__)
    arguments = parser.parse_args()
    plan = json_of([arguments.sluice, "plan", *MODEL, "--estimate", "--planner", "zero-offload"])
    rows = strategies(plan["planner_config"])
    write_json(arguments.json, {"simulated": True, "model": MODEL, "rows": rows})
    print(f"{'on the host':<40}{'stays MiB':>11}{'reduction':>11}{'link, of all states':>21}")
    for row in rows:
        print(f"{row['on_host']:<40}{row['stays_bytes'] / 2**20:>11.1f}{row['reduction']:>10.2f}x{row['link_share']:>20.1%}")


if __name__ == "__main__":
    main()
