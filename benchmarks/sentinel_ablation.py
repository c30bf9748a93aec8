#!/usr/bin/python3
"""Sentinel's figures 12 and 13: what each part of Sentinel-GPU is worth where ops must find everything in fast memory.

    sentinel_ablation.py [MODEL:BATCH:FAST...] [--rivals] [--carries N] [--slow TIER] [--steps N] [--starts N]
                         [--binary BINARY] [--spill-dir FOLDER] [--json OUT] [--help]

    sentinel_ablation.py --rivals --json ablation.json     the paper's five models, a few minutes each
    sentinel_ablation.py resnet20:8:40% --steps 3 --starts 1

Each model is one `sluice compare` of the published planner with migration directly, by intervals, and with all of its
parts, and of sentinel with our additions. --rivals: a second one, of the published planner beside those of figure 12 that
are planners here. Everything is in turn, by the same op times.

FAST is the paper's pressure (its table V: TensorFlow's largest batch over Sentinel-GPU's), or the least that a planner can
use where that is more. The link is slowed until it carries --carries times a step what everything takes: at its full
speed beside a CPU's compute it would hide everything. The paper does not give its steps' times; 0.5 is about what PCIe
3.0 does beside HOME's GPU. Shown are medians, and where the time of the last step went, simulated and executed: exposed
is what ops waited for copies, and its share of the step; hidden is what the links did beside ops. Batches are smaller
than the paper's, BERT-large has 8 of its 24 layers, and the slow tier is emulated.
"""

import statistics

from processes import json_of, parser_of, write_json

WORKLOADS = ["resnet200:2:18%", "bert_large:1:18%", "lstm:20:53%", "mobilenet_v1:16:25%", "dcgan:32:24%"]
SMALLER = {"bert_large": ["--depth", "8"]}
PUBLISHED = "sentinel:additions=none"
WAYS = {f"{PUBLISHED}:migration=direct": "direct",
        f"{PUBLISHED}:migration=intervals": "+ intervals",
        PUBLISHED: "+ reserved space: as published",
        "sentinel": "+ our additions"}
RIVALS = ["vdnn", "vdnn:all=1", "autotm-async", "swapadvisor", "capuchin"]
MIB = 1 << 20


def arguments():
    parser = parser_of(__doc__)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, metavar="MODEL:BATCH:FAST")
    parser.add_argument("--slow", default="pcie3", help="(default %(default)s)")
    parser.add_argument("--carries", type=float, default=0.5, help="times a step what everything takes (default %(default)s)")
    parser.add_argument("--rivals", action="store_true", help=f"also {', '.join(RIVALS)}")
    parser.add_argument("--steps", type=int, default=5, help="of each process (default %(default)s)")
    parser.add_argument("--starts", type=int, default=1, help="processes of each (default %(default)s)")
    options = parser.parse_args()
    for workload in options.workloads:
        parts = workload.split(":")
        if len(parts) != 3 or not parts[1].isdigit():
            parser.error(f"'{workload}' is no MODEL:BATCH:FAST, such as {WORKLOADS[0]}")
    return options


def sluice(options, *words):
    return json_of([options.sluice, *words, "--slow", options.slow, "--spill-dir", options.spill_dir])


def slowed_link(everything, carries):
    """Bytes a second, of what `sluice simulate` says of everything in fast memory."""
    return carries * everything["fast_only_bytes"] / (everything["predicted_ms"] / 1e3)


def compare(options, workload):
    """One or two comparisons: of the ways, and beside the rivals."""
    model, batch, fast = workload.split(":")
    common = [model, "--batch", batch, *SMALLER.get(model, [])]
    link = slowed_link(sluice(options, "simulate", *common, "--planner", "fast-only"), options.carries)
    groups = [list(WAYS)] + ([[PUBLISHED, *RIVALS]] if options.rivals else [])
    return [sluice(options, "compare", *common, "--link-bandwidth", f"{link:.0f}B/s", "--fast", fast, "--smallest-feasible",
                   "--planners", ",".join(group), "--steps", str(options.steps), "--starts", str(options.starts))
            for group in groups]


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
            "budget_bytes": contestant["fast_budget_bytes"], "simulated": parts_of(contestant["predicted_parts_ms"]), "executed": parts_of(contestant["measured_parts_ms"]),
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


def gains(summaries):
    """By rival, over the models: its slowdown over the published planner's, beside it in the same memory or in more."""
    by_rival = {}
    for summary in summaries:
        rows = {row["planner"]: row for row in summary["rows"] if "infeasible" not in row}
        for rival in set(rows) - set(WAYS) - {"fast-only"}:
            ratio = rows[rival]["slowdown"] / rows[PUBLISHED]["slowdown"]
            by_rival.setdefault(rival, {})[summary["model"]] = {
                "ratio": ratio, "more_memory": rows[rival]["budget_bytes"] > rows[PUBLISHED]["budget_bytes"]}
    return by_rival


def text_of_gains(by_rival):
    lines = ["Sentinel-GPU as published over its rivals: geometric mean, and by model (* the rival has more memory)"]
    for rival in sorted(by_rival):
        models = by_rival[rival]
        mean = statistics.geometric_mean([each["ratio"] for each in models.values()])
        cells = ", ".join(f"{model} {each['ratio']:.2f}{' *' if each['more_memory'] else ''}" for model, each in models.items())
        lines.append(f"  {rival:<16}{mean:.2f}   {cells}")
    return "\n".join(lines)


def main():
    options = arguments()
    summaries, document = [], {}
    for workload in options.workloads:
        found = [summary_of(each) for each in compare(options, workload)]
        for each in found:
            print(text_of(each), flush=True)
        summaries.append(found[-1])
        document.setdefault("models", []).extend(found)
        document.update({"slow": options.slow, "carries": options.carries, "gains": gains(summaries)})
        write_json(options.json, document)
    if options.rivals:
        print(text_of_gains(gains(summaries)))


if __name__ == "__main__":
    main()
