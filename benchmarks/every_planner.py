#!/usr/bin/python3
"""Every planner on every built-in model at small sizes, by simulation: a verified plan, or an explained infeasibility.

    benchmarks/every_planner.py --json every_planner.json
    benchmarks/every_planner.py --models resnet20,lstm --planners home,joint --budgets 20%,60% --json some.json

Of GPT-2 there are two; the others differ from them by size alone. Op times are measured once a model and kept in
--spill-dir. What the JSON file (or that of --unfinished) has already is not done again, so that an interrupted run goes on,
as long as slow tier and limits are the same; after `sluice` has changed, begin with another file. The table goes to
standard output, progress to standard error. The status is 1 if there is anything but plans that `sluice verify` accepts and refusals that say what
would do.

zero-offload plans for a second processor, and for the slow tier pcie3, which is its memory.

In the table: a number is the predicted step, of everything in fast memory, which fast-only always has. Else why there is
no plan:

    >56%      it needs more; the number is the smallest budget that the planner can use, or 100 %
              (to 1 MiB, which is why the models are no smaller)
    full      slow tiers fill up
    no-slow   the planner needs a slow tier that ops can use in place (--slow optane)
    FAILED    none of these: a fault
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
import sys
import tempfile

from processes import json_of, run

FEW = 6  # models whose tables people read; all are in the file
CIFAR = ["--batch", "8"]
IMAGES = ["--batch", "2", "--image-size", "64", "--classes", "10"]
TEXT = ["--batch", "4", "--classes", "2000", "--sequence", "64", "--width", "256"]
SIZES = {"plain20": CIFAR, "resnet20": CIFAR, "resnet32": CIFAR, "resnet44": CIFAR, "resnet56": CIFAR, "resnet110": CIFAR,
         "vgg416": ["--batch", "2", "--image-size", "32", "--classes", "10", "--width", "16"],
         "inception_v3": ["--batch", "2", "--image-size", "107", "--classes", "10"],
         "inception_v4": ["--batch", "2", "--image-size", "107", "--classes", "10"],
         "dcgan": ["--batch", "8", "--image-size", "32"],
         "lstm": ["--batch", "8", "--classes", "2000", "--sequence", "20", "--width", "256"],
         "bert_base": [*TEXT, "--depth", "2"], "bert_large": [*TEXT, "--depth", "4"],
         "gpt2_small": [*TEXT, "--depth", "2"], "gpt2_medium": [*TEXT, "--depth", "4"]}
SAME = r"gpt2_(large|xl|\d+b)"  # in small sizes the networks above
# For planners that give the optimizer to another processor, in whose memory the slow tier is then.
HOSTED = {"zero-offload": ["--slow", "pcie3", "--processors", "device:1,host:1:pcie3"]}
TIMED = ("swapadvisor", "autotm-static", "autotm-sync", "autotm-async", "checkmate")  # that take seconds=N
REASONS = ((r"the smallest budget it can use is .*?\(([\d.]+) %", lambda found: f">{math.ceil(float(found[1]))}%"),
           (r"the slow tiers fill up", lambda found: "full"),
           (r"does not fit into|no policy fits", lambda found: ">100%"),
           (r"ops cannot address tier", lambda found: "no-slow"))


def names_of(arguments, command, key):
    """Names that `sluice models` or `sluice planners` lists."""
    listed = json_of([arguments.sluice, command])
    return [each["name"] for each in (listed[key] if isinstance(listed, dict) else listed)]


def reason_of(message):
    """In a word; nothing where the message does not explain."""
    for pattern, word in REASONS:
        if found := re.search(pattern, message):
            return word(found)
    return None


class Machine:
    """What is the same for all cells."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.profiles = pathlib.Path(arguments.spill_dir) / f"{arguments.json.stem}.profiles"
        self.profiles.mkdir(parents=True, exist_ok=True)

    def sluice(self, *words):
        return run([self.arguments.sluice, *words], timeout=self.arguments.timeout)

    def common(self, model, planner):
        machine = HOSTED.get(planner, ["--threads", "1", "--slow", self.arguments.slow])
        return [*SIZES.get(model, IMAGES), *machine, "--spill-dir", self.arguments.spill_dir]

    def profile(self, model, planner):
        path = self.profiles / (f"{model}.{planner}.json" if planner in HOSTED else f"{model}.json")
        if not path.exists():
            ran = self.sluice("profile", model, *self.common(model, planner), "--save", path)
            if ran.returncode != 0:
                sys.exit(f"every_planner: cannot measure {model}\n{ran.stderr}")
        return path

    def cell(self, model, planner, budget):
        """One plan: its ratio and what `sluice verify` says, or why there is none."""
        told = f"{planner}:seconds={self.arguments.seconds}" if planner in TIMED else planner
        cell = {"model": model, "planner": planner, "budget": budget}
        with tempfile.TemporaryDirectory() as folder:
            plan, summary = pathlib.Path(folder) / "plan.json", pathlib.Path(folder) / "summary.json"
            ran = self.sluice("plan", model, *self.common(model, planner), "--profile", self.profile(model, planner), "--planner", told,
                              "--fast", budget, "-o", plan, "--json", summary)
            if ran.returncode != 0:
                message = ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else "no message"
                return {**cell, "reason": reason_of(message) or "FAILED", "message": message}
            verified = self.sluice("verify", plan, model, *self.common(model, planner))
            if verified.returncode != 0:
                return {**cell, "reason": "FAILED", "message": f"not verified: {(verified.stderr or verified.stdout)[-400:]}"}
            found = json.loads(summary.read_text())
            return {**cell, "ratio": 1 + found["predicted_loss"], "fast_arena_bytes": found["fast_arena_bytes"],
                    "migrations": found["migrations"], "ops_again": found["ops_again"]}


def shown(cell):
    return "-" if cell is None else cell.get("reason") or f"{cell['ratio']:.3f}"


def tables(cells, planners, budgets):
    """A table a model, where they are few, and one of all."""
    by_key = {(cell["model"], cell["planner"], cell["budget"]): cell for cell in cells}
    width = max(map(len, planners)) + 2
    head = "".join(f"{budget:>10}" for budget in budgets)
    text = []
    models = list(dict.fromkeys(cell["model"] for cell in cells))
    for model in models if len(models) <= FEW else []:
        text.append(f"{model:<{width}}{head}")
        for planner in planners:
            text.append(f"{planner:<{width}}" + "".join(f"{shown(by_key.get((model, planner, budget))):>10}" for budget in budgets))
        text.append("")
    text.append("all models: geometric mean of the ratios, plans / infeasible / failed")
    text.append(f"{'':<{width}}" + "".join(f"{budget:>20}" for budget in budgets))
    for planner in planners:
        line = f"{planner:<{width}}"
        for budget in budgets:
            column = [cell for cell in cells if cell["planner"] == planner and cell["budget"] == budget]
            ratios = [cell["ratio"] for cell in column if "ratio" in cell]
            failed = sum(cell.get("reason") == "FAILED" for cell in column)
            mean = f"{statistics.geometric_mean(ratios):.3f}" if ratios else "-"
            line += f"{f'{mean}  {len(ratios)}/{len(column) - len(ratios) - failed}/{failed}':>20}"
        text.append(line)
    return "\n".join(text)


def kept_cells(arguments, settings):
    """What an earlier run has done."""
    if not arguments.unfinished.exists():
        return []
    earlier = json.loads(arguments.unfinished.read_text())
    if earlier["settings"] != settings:
        sys.exit(f"every_planner: {arguments.unfinished} was made with {earlier['settings']}, not {settings}; name another file")
    return [cell for cell in earlier["cells"] if cell.get("reason") != "FAILED"]  # failures are tried again


def write(path, settings, cells):
    """Whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"settings": settings, "cells": cells}, indent=1) + "\n")
    os.replace(part, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help="separated by commas (default: all built-in ones)")
    parser.add_argument("--planners", help="separated by commas (default: all)")
    parser.add_argument("--budgets", default="10%,20%,40%,60%")
    parser.add_argument("--slow", default="file", help="as sluice takes it (file); optane for planners that use it in place")
    parser.add_argument("--seconds", type=int, default=10, help="for solvers and genetic search, a plan")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for a plan, after which it has failed")
    parser.add_argument("--sluice", default="build/release/tools/sluice")
    parser.add_argument("--spill-dir", default="build")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--unfinished", type=pathlib.Path, help="where cells are kept until all are done (default: the file of --json)")
    arguments = parser.parse_args()
    arguments.unfinished = arguments.unfinished or arguments.json
    models = arguments.models.split(",") if arguments.models else [
        name for name in names_of(arguments, "models", "models") if not re.fullmatch(SAME, name)]
    planners = arguments.planners.split(",") if arguments.planners else names_of(arguments, "planners", "planners")
    budgets = arguments.budgets.split(",")
    settings = {"slow": arguments.slow, "seconds": arguments.seconds, "sizes": "small", "threads": 1}
    cells = kept_cells(arguments, settings)
    done = {(cell["model"], cell["planner"], cell["budget"]) for cell in cells}
    wanted = [(model, planner, budget) for model in models for planner in planners for budget in budgets]
    left = [each for each in wanted if each not in done]
    machine = Machine(arguments)
    for number, each in enumerate(left, 1):
        cells.append(machine.cell(*each))
        print(f"{number}/{len(left)} {' '.join(each)}: {shown(cells[-1])}", file=sys.stderr, flush=True)
        write(arguments.unfinished, settings, cells)
    cells = [cell for cell in cells if (cell["model"], cell["planner"], cell["budget"]) in set(wanted)]
    write(arguments.json, settings, cells)
    if arguments.unfinished != arguments.json:
        arguments.unfinished.unlink(missing_ok=True)
    print(tables(cells, planners, budgets))
    for cell in cells:
        if cell.get("reason") == "FAILED":
            print(f"FAILED {cell['model']} {cell['planner']} {cell['budget']}: {cell['message']}")
    return 1 if any(cell.get("reason") == "FAILED" for cell in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
