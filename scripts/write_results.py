#!/usr/bin/env python3
"""Writes the tables of results into pages from what is kept in docs/results, between their marks.

  scripts/write_results.py           writes
  scripts/write_results.py --check   writes nothing; fails where a page differs from what is kept

A table stands between `<!-- results: NAME -->` and `<!-- end of results -->`. So no figure of these pages is typed by
hand: what is kept is the only place of it.
"""
import argparse
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
PAGES = ("README.md", "docs/results/README.md")
sys.path.insert(0, str(ROOT / "benchmarks"))
from reproducing import records  # noqa: E402

KEPT = {name: record.get("numbers") for name, record in records.records_of(RESULTS).items()}

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
    return KEPT[name]


def printed(page, name):
    """The lines that a kept result printed."""
    return records.sections_of((RESULTS / f"{page}.md").read_text())[1][name].splitlines()


def mebibytes(count):
    return f"{count / 2**20:,.0f} MiB"


def table(head, rows):
    """The first column to the left, the others as they come."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def rows_by_planner(name):
    return {row["planner"]: row for row in read(name)["results"] if "slowdown" in row}


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
                     f"[table](joint.md#joint_{name})"])
    means = [statistics.geometric_mean(column) for column in columns]
    rows.append([f"**geometric mean of {len(JOINT)}**", "", f"{means[0]:.3f}×", f"**{means[1]:.3f}×**", f"{means[2]:.3f}×",
                 f"{means[3]:.3f}×", "", ""])
    return table(["", "fast-only", "sentinel", "joint, the default", "predicted", "bound", "resident", ""], rows)


def joint_slowdowns(name):
    """sentinel's, joint's, and what bounds plans that keep to joint's order."""
    by_planner = rows_by_planner(name)
    return (by_planner["sentinel"]["slowdown"], by_planner["joint"]["slowdown"],
            by_planner["joint"]["order_bound_ms"] / by_planner["fast-only"]["predicted_ms"])


def beside_pytorch():
    """Of each model: its comparison's rows by name, ours, and the PyTorch that was faster there."""
    for comparison in read("pytorch")["comparisons"]:
        by_name = {each["name"]: each for each in comparison["results"]}
        rivals = [each for name, each in by_name.items() if name.startswith("pytorch plain")]
        yield comparison["model"], by_name, by_name["sluice fast-only"], min(rivals, key=lambda each: each["step_ms"]["median"])


def beside_pytorch_means():
    """Time and memory over the faster PyTorch's."""
    pairs = [(ours["ratio_to"][theirs["name"]], ours["peak_rss_bytes"] / theirs["peak_rss_bytes"])
             for _, _, ours, theirs in beside_pytorch()]
    return [statistics.geometric_mean(column) for column in zip(*pairs)]


def pytorch_table():
    rows, versions = [], {"1.13": "pytorch plain", "2.6": "pytorch plain 2.6"}
    for model, by_name, ours, theirs in beside_pytorch():
        rows.append([model, f"{ours['step_ms']['median']:,.0f} ms",
                     *(f"{by_name[name]['step_ms']['median']:,.0f} ms" for name in versions.values()),
                     f"{ours['ratio_to'][theirs['name']]:.3f}", mebibytes(ours["peak_rss_bytes"]),
                     mebibytes(theirs["peak_rss_bytes"]), f"{ours['peak_rss_bytes'] / theirs['peak_rss_bytes']:.3f}"])
    time, memory = beside_pytorch_means()
    rows.append(["**geometric mean**", "", "", "", f"**{time:.3f}**", "", "", f"**{memory:.3f}**"])
    return table(["", "Sluice", *(f"PyTorch {version}" for version in versions), "ratio to the faster", "Sluice, resident",
                  "that PyTorch, resident", "ratio"], rows)


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


def optane_slowdowns(name):
    by_planner = rows_by_planner(f"optane_sentinel_{name}")
    return [by_planner[planner]["slowdown"] for planner in ("sentinel", "memory-mode", "ial", "first-touch", "slow-only")]


def optane_table():
    titles = ["sentinel", "hardware cache", "active lists (IAL)", "first touch", "all in slow memory"]
    columns = list(zip(*(optane_slowdowns(name) for name, _ in OPTANE)))
    rows = [[title] + [f"{slowdown:.2f}×" for slowdown in optane_slowdowns(name)] for name, title in OPTANE]
    rows.append(["**mean**"] + [f"{sum(column) / len(column):.2f}×" for column in columns])
    return table([""] + titles, rows)


def slowdown_of(comparison, name):
    return next(each for each in comparison["results"] if each["name"] == name)["slowdown"]["median"]


def swap_table():
    """Slowdowns over the same step without a limit; where the kernel swaps, steps that took too long were ended."""
    rows = []
    for comparison in read("kernel_swap")["comparisons"]:
        rows.append([f"{comparison['model']}, batch {comparison['batch']}", mebibytes(comparison["memory_limit_bytes"])] +
                    [f"{slowdown_of(comparison, name):.2f}×" for name in ("sentinel", "swap")])
    return table(["", "physical memory", "sentinel", "the kernel's swap"], rows)


def agreement():
    worst = max(each["max_relative_error"] for each in read("gradients")["models"])
    verdict = printed("rivals", "onnx")[-2]  # the last is the end of the block
    return [f"Every gradient of {len(read('gradients')['models'])} models agrees with PyTorch's double precision to {worst:.0e} of "
            "its largest element ([table](rivals.md#gradients)).",
            f"Of the ONNX exports, {verdict} ([table](rivals.md#onnx))."]


def comparison_output():
    """The table that `sluice compare` printed, and what it says of the machine above it."""
    lines = printed("networks", "demo_resnet50")
    begin = next(i for i, line in enumerate(lines) if line.startswith("resnet50,"))
    end = next(i for i, line in enumerate(lines) if line.startswith("joint ")) + 1
    head = next(i for i, line in enumerate(lines) if line.startswith("planner "))
    return ["```text"] + lines[begin:head + 1] + [rule_of(lines[head:end])] + lines[head + 1:end] + ["```"]


def rule_of(rows):
    """The line under a table's head, which pages do without: dashes wherever a column is."""
    width = max(map(len, rows))
    blank = [all(row.ljust(width)[i] == " " for row in rows) for i in range(width)]
    between = [blank[i] and (blank[max(i - 1, 0)] or blank[min(i + 1, width - 1)]) for i in range(width)]
    return "".join(" " if each else "-" for each in between)


def geometric_means(names, figure_of):
    """Of what `figure_of` finds in each of the results."""
    columns = [figure_of(name) for name in names]
    return [statistics.geometric_mean([column[i] for column in columns]) for i in range(len(columns[0]))]


def one_way(name, model, way):
    """A step and its memory, in words."""
    results = next(each for each in read(name)["comparisons"] if each["model"] == model)["results"]
    found = next(each for each in results if each["name"] == way)
    return f"{found['step_ms']['median'] / 1e3:.2f} s in {mebibytes(found['peak_rss_bytes'])}"


def summary_table():
    """The README's: a line a question."""
    time, memory = beside_pytorch_means()
    sentinel, joint, bound = geometric_means([f"joint_{name}" for name, _ in JOINT], joint_slowdowns)
    optane = [sum(column) / len(OPTANE) for column in zip(*(optane_slowdowns(name) for name, _ in OPTANE))]
    swapped = [statistics.geometric_mean([slowdown_of(comparison, way) for comparison in read("kernel_swap")["comparisons"]])
               for way in ("sentinel", "swap")]
    return table(["", "Sluice", "beside it", ""], [
        [f"step and memory, everything in memory, {len(read('pytorch')['comparisons'])} models, over the faster of PyTorch 1.13 and 2.6",
         f"**{time:.3f}**, {memory:.3f}", "1", more("beside-pytorch-everything-in-memory")],
        ["ResNet-50, batch 32, short of memory", one_way("pytorch_joint", "resnet50", "sluice joint@20%"),
         f"PyTorch: a checkpoint per block {one_way('pytorch_joint', 'resnet50', 'pytorch checkpoint')}, "
         f"saved tensors in a file {one_way('pytorch_joint', 'resnet50', 'pytorch disk')}",
         more("short-of-memory-beside-pytorchs-ways")],
        ["BERT base, batch 8, the same", one_way("pytorch_joint", "bert_base", "sluice joint@20%"),
         f"{one_way('pytorch_joint', 'bert_base', 'pytorch checkpoint')}; {one_way('pytorch_joint', 'bert_base', 'pytorch disk')}",
         more("short-of-memory-beside-pytorchs-ways")],
        [f"slowdown in a fifth of the memory, the rest on disk, {len(JOINT)} models", f"**{joint:.3f}×**",
         f"sentinel {sentinel:.3f}×; no plan that moves tensors in this order comes below {bound:.3f}×",
         more("a-fifth-of-the-memory-the-rest-in-a-file")],
        ["slowdown with a fifth fast, the rest in emulated Optane, five models", f"sentinel **{optane[0]:.2f}×**",
         f"hardware cache {optane[1]:.2f}×, active lists {optane[2]:.2f}×, first touch {optane[3]:.2f}×, all slow {optane[4]:.2f}×",
         more("slow-memory-that-can-be-addressed")],
        [f"slowdown in the same physical memory, {len(read('kernel_swap')['comparisons'])} models", f"sentinel **{swapped[0]:.2f}×**",
         f"the kernel's swap {swapped[1]:.2f}×", more("beside-the-kernels-swapping")],
    ])


def more(section):
    return f"[more](docs/results/README.md#{section})"


TABLES = {"summary": summary_table, "joint": joint_table, "pytorch": pytorch_table, "short of memory": ways_table("chen_sqrt"),
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
        sys.exit(f"write_results: {', '.join(different)}: not what is kept; run scripts/write_results.py")


if __name__ == "__main__":
    main()
