#!/usr/bin/env python3
"""Writes the tables of results into pages from the kept files of docs/results, between their marks.

  scripts/write_results.py           writes
  scripts/write_results.py --check   writes nothing; fails where a page differs from the kept files

A table stands between `<!-- results: NAME -->` and `<!-- end of results -->`. So no figure of these pages is typed by
hand: the kept file is the only place of it.
"""
import argparse
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
PAGES = ("README.md",)

JOINT = [  # kept result, how people call it
    ("resnet50_b16", "ResNet-50, batch 16"), ("vgg16_b8", "VGG-16, batch 8"), ("inception_v3_b8", "Inception v3, batch 8"),
    ("inception_v4_b8", "Inception v4, batch 8"), ("densenet121_b16", "DenseNet-121, batch 16"),
    ("mobilenet_v1_b32", "MobileNet v1, batch 32"), ("mobilenet_v2_b32", "MobileNet v2, batch 32"),
    ("squeezenet1_1_b32", "SqueezeNet 1.1, batch 32"), ("googlenet_b16", "GoogLeNet, batch 16"),
    ("lstm_b20", "LSTM language model, batch 20"), ("bert_base_b8", "BERT base, batch 8 x 128"),
    ("bert_large_b2", "BERT large, batch 2 x 128"), ("gpt2_small_b4", "GPT-2 small, batch 4 x 256"),
    ("dcgan_b128", "DCGAN, batch 128"), ("densenet264_b8", "DenseNet-264, batch 8"),
    ("vgg416_b4", "VGG-416, batch 4 x 64 x 64"), ("resnet200_b4", "ResNet-200, batch 4")]

OPTANE = [("resnet32_b128", "ResNet-32, batch 128"), ("lstm_b20", "LSTM, batch 20"), ("dcgan_b128", "DCGAN, batch 128"),
          ("mobilenet_v1_b128", "MobileNet v1, CIFAR, batch 128"), ("bert_large_b2_2", "BERT large, batch 2")]

WAYS = {"sluice joint@20%": "Sluice, `--fast 20%`, the rest in a file",
        "sluice chen-sqrt@60%": "Sluice, `--fast 60%`, recomputation, no file",
        "pytorch plain": "PyTorch with all it wants", "pytorch checkpoint": "PyTorch, a checkpoint per block",
        "pytorch disk": "PyTorch, saved tensors in a file"}


def read(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


def geometric_mean(values):
    return math.exp(sum(math.log(each) for each in values) / len(values))


def mebibytes(count):
    return f"{count / 2**20:,.0f} MiB"


def table(head, rows):
    """The first column to the left, the others as they come."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def rows_by_planner(name):
    return {row["planner"]: row for row in read(name)["results"] if "infeasible" not in row}


def joint_table():
    """Slowdowns in a fifth of the memory; `predicted` and `bound` (of moving tensors in this order) are joint's."""
    rows, columns = [], ([], [], [], [])
    for name, title in JOINT:
        by_planner = rows_by_planner(f"joint_{name}")
        fast, joint = by_planner["fast-only"], by_planner["joint"]
        figures = (by_planner["sentinel"]["slowdown"], joint["slowdown"], joint["predicted_slowdown"],
                   joint["order_bound_ms"] / fast["predicted_ms"])
        for column, figure in zip(columns, figures):
            column.append(figure)
        rows.append([title, f"{fast['step_ms']['median']:,.0f} ms", f"{figures[0]:.3f}×", f"**{figures[1]:.3f}×**",
                     f"{figures[2]:.3f}×", f"{figures[3]:.3f}×",
                     f"{fast['peak_rss_bytes'] / 2**20:,.0f} → {mebibytes(joint['peak_rss_bytes'])}",
                     f"[table](docs/results/joint_{name}.txt)"])
    means = [geometric_mean(column) for column in columns]
    rows.append([f"**geometric mean of {len(JOINT)}**", "", f"{means[0]:.3f}×", f"**{means[1]:.3f}×**", f"{means[2]:.3f}×",
                 f"{means[3]:.3f}×", "", ""])
    return table(["", "fast-only", "sentinel", "joint, the default", "predicted", "bound", "resident", ""], rows)


def pytorch_table():
    summary = next(each for each in read("pytorch")["summaries"] if each["rival"] == "pytorch plain")
    rows = []
    for comparison in read("pytorch")["comparisons"]:
        by_name = {each["name"]: each for each in comparison["results"]}
        ours, theirs = by_name["sluice fast-only"], by_name["pytorch plain"]
        rows.append([comparison["model"], f"{ours['step_ms']['median']:,.0f} ms", f"{theirs['step_ms']['median']:,.0f} ms",
                     f"{ours['ratio_to']['pytorch plain']:.3f}", mebibytes(ours["peak_rss_bytes"]),
                     mebibytes(theirs["peak_rss_bytes"]), f"{ours['peak_rss_bytes'] / theirs['peak_rss_bytes']:.3f}"])
    mean = summary["geometric_mean"]
    rows.append(["**geometric mean**", "", "", f"**{mean['time']:.3f}**", "", "", f"**{mean['memory']:.3f}**"])
    return table(["", "Sluice", "PyTorch", "ratio", "Sluice, resident", "PyTorch, resident", "ratio"], rows)


def ways_table(name):
    def make():
        rows = []
        for comparison in read(name)["comparisons"]:
            for each in comparison["results"]:
                if each["name"] not in WAYS:
                    continue
                rows.append([f"{comparison['model']}, batch {comparison['batch']}", WAYS[each["name"]],
                             f"{each['step_ms']['median'] / 1e3:.2f} s", mebibytes(each["peak_rss_bytes"])])
        return table(["", "", "step", "peak resident"], rows)
    return make


def optane_table():
    planners = ["sentinel", "memory-mode", "ial", "first-touch", "slow-only"]
    titles = ["sentinel", "hardware cache", "active lists (IAL)", "first touch", "all in slow memory"]
    rows, columns = [], [[] for _ in planners]
    for name, title in OPTANE:
        by_planner = rows_by_planner(f"optane_sentinel_{name}")
        for column, planner in zip(columns, planners):
            column.append(by_planner[planner]["slowdown"])
        rows.append([title] + [f"{column[-1]:.2f}×" for column in columns])
    rows.append(["**mean**"] + [f"{sum(column) / len(column):.2f}×" for column in columns])
    return table([""] + titles, rows)


def swap_table():
    """Slowdowns over the same step without a limit; where the kernel swaps, steps that took too long were ended."""
    rows = []
    for comparison in read("kernel_swap")["comparisons"]:
        by_name = {each["name"]: each for each in comparison["results"]}
        rows.append([f"{comparison['model']}, batch {comparison['batch']}", mebibytes(comparison["memory_limit_bytes"])] +
                    [f"{by_name[name]['slowdown']['median']:.2f}×" for name in ("sentinel", "swap")])
    return table(["", "physical memory", "sentinel", "the kernel's swap"], rows)


def agreement():
    worst = max(each["max_relative_error"] for each in read("gradients")["models"])
    verdict = (RESULTS / "onnx.txt").read_text().strip().splitlines()[-1]
    return [f"Every gradient of {len(read('gradients')['models'])} models agrees with PyTorch's double precision to {worst:.0e} of "
            "its largest element ([table](docs/results/gradients.txt)).",
            f"Of the ONNX exports, {verdict} ([table](docs/results/onnx.txt))."]


def comparison_output():
    """The table that `sluice compare` printed, and what it says of the machine above it."""
    lines = (RESULTS / "demo_resnet50.txt").read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("resnet50,"))
    end = lines.index("", lines.index("", begin) + 1)
    return ["```text"] + lines[begin:end] + ["```"]


TABLES = {"joint": joint_table, "pytorch": pytorch_table, "short of memory": ways_table("chen_sqrt"),
          "ways to save memory": ways_table("pytorch_joint"), "optane": optane_table, "kernel swap": swap_table,
          "agreement": agreement, "demo": comparison_output}


def written(text, page):
    lines, skipping = [], False
    for line in text.splitlines():
        if line == "<!-- end of results -->":
            skipping = False
        if not skipping:
            lines.append(line)
        if line.startswith("<!-- results: "):
            name = line.removeprefix("<!-- results: ").removesuffix(" -->")
            if name not in TABLES:
                sys.exit(f"write_results: {page} asks for '{name}'; there is {', '.join(TABLES)}")
            lines += TABLES[name]()
            skipping = True
    if skipping:
        sys.exit(f"write_results: {page} has a table without its end, <!-- end of results -->")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page differs")
    arguments = parser.parse_args()
    different = []
    for page in PAGES:
        before = (ROOT / page).read_text()
        after = written(before, page)
        if before != after and arguments.check:
            different.append(page)
        elif before != after:
            (ROOT / page).write_text(after)
    if different:
        sys.exit(f"write_results: {', '.join(different)}: not what the kept files say; run scripts/write_results.py")


if __name__ == "__main__":
    main()
