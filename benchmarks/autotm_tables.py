#!/usr/bin/python3
"""Tables of what AutoTM's published kernel times say (benchmarks/papers/autotm_numbers.cpp).

    autotm_tables.py kernels FOLDER --json FILE     the emulation's rule beside kernels on real Optane
    autotm_tables.py figures FOLDER --json FILE     figures 7 and 10 for our graphs, planned on these kernels' times

FOLDER holds AutoTM's tables as text (autotm_data.hpp). The kernels are of batch 16, the paper's figures of 512 and more: trends
are compared; what the paper's text says of them is in benchmarks/papers/autotm.json. Other arguments go to autotm_numbers:
--models, --planners, --ratios. `kernels` ends with 1 when a kind in the bar is not met within 1.5 times.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

from processes import write_json
from reproducing.papers import text_table

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build/release/benchmarks/papers/autotm_numbers")
BAR = 1.5
LARGE = 8 * 2 ** 20  # bytes written: what outputs cost by number is then a small part
WORTH_SAYING = 0.01
COUNTS = ("ops", "unmatched_ops", "seconds", "scaled_seconds", "guessed_seconds", "placements", "published_placements")


def spread_of(values):
    values = sorted(values)
    return {name: values[int(part * (len(values) - 1))] for name, part in (("median", 0.5), ("p10", 0.1), ("p90", 0.9))}


def kind_row(kind, kernels):
    """Most in Optane over all in DRAM."""
    measured = [each["measured_seconds"][-1] / each["measured_seconds"][0] for each in kernels]
    predicted = [each["predicted_seconds"][-1] / each["measured_seconds"][0] for each in kernels]
    row = {"kind": kind, "in_bar": kernels[0]["in_bar"], "kernels": len(kernels), "measured_ratio": spread_of(measured),
           "predicted_ratio": spread_of(predicted),
           "predicted_by_measured": spread_of([one / other for one, other in zip(predicted, measured)])}
    off = row["predicted_ratio"]["median"] / row["measured_ratio"]["median"]
    return {**row, "off": off, "met": max(off, 1 / off) <= BAR}


def kind_rows(kernels):
    return [kind_row(kind, list(group)) for kind, group in itertools.groupby(kernels, lambda each: each["kind"])]


def table(head, rows):
    return text_table(head, rows, head[1:])


def kinds_table(rows):
    def text(spread):
        return f"{spread['median']:.2f} [{spread['p10']:.2f} {spread['p90']:.2f}]"

    return table(("kind", "kernels", "slow/fast measured [p10 p90]", "predicted", "predicted/measured", "of each", "within 1.5x"),
                 [(row["kind"], str(row["kernels"]), text(row["measured_ratio"]), text(row["predicted_ratio"]), f"{row['off']:.2f}",
                   text(row["predicted_by_measured"]), ("yes" if row["met"] else "no") + ("" if row["in_bar"] else " (not in the bar)"))
                  for row in rows])


def machine_text(machine):
    return (f"{machine['cpu']}; {machine['cache_bytes'] / 2 ** 20:.1f} MiB of caches; DRAM {machine['dram_bandwidth'] / 1e9:.2f} GB/s; "
            f"Optane {machine['read_bandwidth'] / 1e9:.2f} GB/s read, {machine['write_bandwidth'] / 1e9:.2f} GB/s written in granules of "
            f"{machine['granule']} bytes, {machine['latency_seconds'] * 1e9:.0f} ns")


def fit_text(fit):
    return f"{fit['usable_caches']:.2f} of the caches usable, {fit['seconds_per_output'] * 1e6:.0f} us per output in Optane"


def show_kernels(numbers):
    """Prints the tables; the document that is kept."""
    kernels = numbers["kernels"]
    rows, large = kind_rows(kernels), kind_rows([each for each in kernels if each["largest_output_bytes"] >= LARGE])
    every = spread_of([predicted / measured for each in kernels
                       for measured, predicted in zip(each["measured_seconds"][1:], each["predicted_seconds"][1:]) if measured > 0])
    print(f"emulated Optane against AutoTM's kernels on real Optane\n{machine_text(numbers['machine'])}\n"
          f"fitted on the {numbers['kernels_fitted']} kernels of even number: {fit_text(numbers['fit'])}\n\n"
          f"the {len(kernels)} kernels of odd number, most in Optane against all in DRAM:\n{kinds_table(rows)}\n\n"
          f"of these, the ones with an output of 8 MiB and more:\n{kinds_table(large)}\n\n"
          f"all placements of all kernels of odd number: predicted / measured {every['median']:.2f} [{every['p10']:.2f} {every['p90']:.2f}]")
    return {"fit": numbers["fit"], "kernels_fitted": numbers["kernels_fitted"], "kernels_held_out": len(kernels), "kinds": rows,
            "kinds_of_large_outputs": large, "all_placements_predicted_by_measured": every}


def share(part, whole):
    return f"{100 * part / whole if whole else 0:.1f}%"


def coverage_text(model):
    """Of how much of it a kernel was published."""
    everything = {"kind": "all", **{name: sum(kind[name] for kind in model["kinds"]) for name in COUNTS}}
    rows = [(kind["kind"], str(kind["ops"]), str(kind["unmatched_ops"]), *(f"{1e3 * kind[name]:.2f}" for name in COUNTS[2:5]),
             share(kind["published_placements"], kind["placements"])) for kind in [*model["kinds"], everything]]
    lines = [table(("op", "ops", "unmatched", "ms in DRAM", "scaled ms", "guessed ms", "placements published"), rows),
             f"unmatched: {everything['unmatched_ops']} of {everything['ops']} ops ({share(everything['unmatched_ops'], everything['ops'])}), "
             f"{share(everything['scaled_seconds'] + everything['guessed_seconds'], everything['seconds'])} of the time with everything in DRAM"]
    lines += [f"none of its {kind['ops']} ops {kind['kind']} has a kernel of its shapes: the network that was timed seems to have had none"
              for kind in model["kinds"]
              if kind["unmatched_ops"] == kind["ops"] and kind["seconds"] >= WORTH_SAYING * everything["seconds"]]
    return "\n".join(lines)


def points_by_ratio(model):
    """Pairs of a ratio and its points."""
    planners = len(model["points"]) // len(model["ratios"])
    return [(ratio, model["points"][i * planners:(i + 1) * planners]) for i, ratio in enumerate(model["ratios"])]


def slowdowns_text(model):
    by_ratio = points_by_ratio(model)
    planners = [point["planner"] for point in by_ratio[0][1]]
    rows = [("only PMM", "0.0%", "0", *[f"{model['only_pmm_slowdown']:.3f}x"] * len(planners))]
    for ratio, points in by_ratio:
        pmm, dram = map(int, ratio.split(":"))
        whole = model["fast_only_bytes"] * dram / (pmm + dram)
        rows.append((ratio, share(dram, pmm + dram), f"{whole / 2 ** 20:.0f}",
                     *(f"{point['predicted_slowdown']:.3f}x" if "predicted_slowdown" in point else "infeasible" for point in points)))
    first = {point["planner"]: point["infeasible"] for point in reversed(model["points"]) if "infeasible" in point}
    return "\n".join([table(("PMM:DRAM", "DRAM", "MiB", *planners), rows), *(f"- {why}" for why in first.values())])


def operands_text(model):
    rows = [(point["planner"], ratio, *(f"{100 * point['fast_operands'][side]:.1f}%" for side in ("inputs", "outputs")),
             *(f"{point[way] / 2 ** 20:.0f}" for way in ("bytes_in", "bytes_out")), f"{point['stall_ms']:.2f}")
            for ratio, points in points_by_ratio(model) for point in points if "fast_operands" in point]
    planners = [point["planner"] for point in model["points"]]
    rows.sort(key=lambda row: planners.index(row[0]))
    return table(("planner", "PMM:DRAM", "inputs in DRAM", "outputs in DRAM", "to DRAM MiB", "to PMM MiB", "stall ms"), rows)


def show_figures(numbers):
    machine = numbers["machine"]
    print(f"our graphs, batch 16, planned on {numbers['kernels_published']} kernels that AutoTM's authors timed on real Optane; simulated\n"
          f"{machine['cpu']}; copies to DRAM at {machine['to_dram_bandwidth'] / 1e9:.2f} GB/s and from it at "
          f"{machine['to_optane_bandwidth'] / 1e9:.2f} GB/s, by all compute threads: nothing computes beside them\n"
          f"placements that were not published: the emulation's rule, {fit_text(numbers['fit'])}\n"
          "Ours fuse what nGraph runs one after the other (batch norm with residual and ReLU; a gradient with its ReLU's):\n"
          "such an op takes the sum. SGD has a momentum here, as a second add. All tensors are placed, parameters and momenta\n"
          "too (first touch: before all others); AutoTM placed intermediate ones. joint may besides run ops again or in another\n"
          "order.\n")
    for model in numbers["models"]:
        print(f"{model['graph']}\n\ntimes of its ops:\n{coverage_text(model)}\n\n"
              f"slowdown over only DRAM, {model['fast_only_predicted_ms']:.1f} ms (simulated from published kernel times):\n"
              f"{slowdowns_text(model)}\n\n"
              f"operands in DRAM, by bytes, and bytes moved in a step (simulated from published kernel times):\n{operands_text(model)}\n")
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kernels", "figures"))
    parser.add_argument("folder", help="AutoTM's tables")
    parser.add_argument("--json", help="also writes the numbers there")
    parser.add_argument("--program", default=PROGRAM, help="autotm_numbers as built (default: of the release build)")
    options, more = parser.parse_known_args()
    with tempfile.NamedTemporaryFile(suffix=".json") as numbers:
        subprocess.run([options.program, options.what, options.folder, numbers.name, *more], check=True)
        with open(numbers.name) as file:  # it was replaced as a whole
            kept = {"kernels": show_kernels, "figures": show_figures}[options.what](json.load(file))
    write_json(options.json, kept)
    return 0 if all(row["met"] or not row["in_bar"] for row in kept.get("kinds", [])) else 1


if __name__ == "__main__":
    sys.exit(main())
