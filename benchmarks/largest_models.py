#!/usr/bin/python3
"""The largest GPT-2 that trains in a device of fixed memory, by planner: by simulation at full size, or executed scaled down.

    benchmarks/largest_models.py --json largest_models.json
    benchmarks/largest_models.py --executed --json largest_models_executed.json
    benchmarks/largest_models.py --node --json largest_models_node.json

Everything on the device, against ZeRO-Offload, against parameters that are streamed too. A contestant's largest model is the
deepest one of a given width for which its plan fits, found by halving; parameters in bf16 with fp32 masters, AdamW. Simulated,
nothing is measured: op times are guesses, which do not decide whether a model fits. Executed, every model found is also
trained for two steps, on emulated hardware: cores for the device and the host, DRAM for the host's memory. With --node, simulated:
one device of a node of 16 that keep a sixteenth of the optimizer's states each and take batches of their own (ZeRO-2).

The table goes to standard output, progress to standard error.
"""
import sys

import every_planner
from processes import answer_of, parser_of, write_json

HOST = ["--slow", "pcie3", "--processors", "device:1,host:1:pcie3"]
STREAMED = ["--slow", "pcie3"]
COMMON = ["--precision", "bf16-masters", "--optimizer", "adamw"]
# (name, planner, further options, batch, width, deepest)
FULL = [("on the device", "fast-only", STREAMED, 1, 2048, 40),
        ("on the device", "fast-only", STREAMED, 4, 2048, 40),
        ("recomputing there", "chen-sqrt", STREAMED, 4, 2048, 48),
        ("zero-offload", "zero-offload:checkpoints=14", HOST, 1, 4096, 80),
        ("zero-offload", "zero-offload:checkpoints=14", HOST, 4, 4096, 80),
        ("streamed, l2l", "l2l", STREAMED, 4, 8192, 50)]
SMALL = [("on the device", "fast-only", STREAMED, 4, 256, 48),
         ("zero-offload", "zero-offload:checkpoints=14", HOST, 4, 256, 64),
         ("streamed, l2l", "l2l", STREAMED, 4, 256, 128),
         ("streamed, joint", "joint", ["--slow", "file", "--planning-time", "10"], 4, 256, 100)]
NODE_RANKS = ["--ranks", "16"]
NODE = [("zero-2, 16 devices", "chen-sqrt", [*STREAMED, *NODE_RANKS], 4, 4096, 80),
        ("zero-offload, 16", "zero-offload:checkpoints=14", [*HOST, *NODE_RANKS], 4, 4096, 80)]


def parameters(width, depth, vocabulary, positions):
    """Of GPT-2 with a tied decoder: four products of attention, two of the feed-forward part, biases and norms."""
    return depth * (12 * width * width + 13 * width) + (vocabulary + positions + 2) * width


class Search:
    """What is the same for all contestants."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.sizes = (["--classes", "2000", "--sequence", "64"] if arguments.executed else [])
        self.vocabulary, self.positions = (2000, 64) if arguments.executed else (50257, 1024)

    def run(self, command, contestant, depth, *more):
        name, planner, options, batch, width, _ = contestant
        model = "gpt2_1b" if width < 4096 else "gpt2_13b" if width < 8192 else "gpt2_20b"
        answer, ran = answer_of([self.arguments.sluice, command, model, "--width", width, "--depth", depth, "--batch", batch,
                                 *self.sizes, *COMMON, *options, "--planner", planner, *more])
        if answer is not None or every_planner.reason_of(ran.stderr):
            return answer
        sys.exit(f"largest_models: {name} at depth {depth}: {ran.stderr}")

    def plan(self, contestant, depth):
        how = [] if self.arguments.executed else ["--estimate"]
        on_device = contestant[1] == "fast-only"  # which takes what everything needs, whatever it is told
        found = self.run("plan", contestant, depth, *how, *([] if on_device else ["--fast", self.arguments.device]))
        fits = found is not None and found["fast_only_bytes" if on_device else "fast_arena_bytes"] <= self.arguments.bytes
        print(f"{contestant[0]}, batch {contestant[3]}, {depth} layers of {contestant[4]}: {'fits' if fits else 'too large'}",
              file=sys.stderr, flush=True)
        return found if fits else None

    def largest(self, contestant):
        fits, too_deep, best = 0, contestant[5] + 1, None
        while too_deep - fits > 1:
            depth = (fits + too_deep) // 2
            found = self.plan(contestant, depth)
            if found is None:
                too_deep = depth
            else:
                fits, best = depth, found
        name, planner, _, batch, width, deepest = contestant
        row = {"name": name, "planner": planner, "batch": batch, "width": width, "depth": fits,
               "parameters": parameters(width, fits, self.vocabulary, self.positions) if fits else 0,
               "at_least": fits == deepest, "simulated": not self.arguments.executed,
               "arenas": best and best.get("arena_bytes")}
        if self.arguments.executed and fits:
            fast = [] if planner == "fast-only" else ["--fast", self.arguments.device]
            ran = self.run("train", contestant, fits, *fast, "--steps", "2")
            row["final_loss"] = ran["final_loss"]
        return row


def table(rows, device):
    first = {row["batch"]: row["parameters"] for row in rows if row["planner"] == "fast-only"}
    lines = [f"{'in ' + device:<20}{'batch':>6}{'layers':>8}{'width':>7}{'parameters':>13}{'over the device alone':>23}"]
    for row in rows:
        ratio = f"{row['parameters'] / first[row['batch']]:.2f}x" if row["batch"] in first else "-"
        lines.append(f"{row['name']:<20}{row['batch']:>6}{row['depth']:>8}{row['width']:>7}{row['parameters'] / 1e6:>11.1f} M"
                     f"{('>=' if row['at_least'] else '') + ratio:>23}")
    return "\n".join(lines)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--executed", action="store_true", help="small models, each trained for two steps")
    parser.add_argument("--node", action="store_true", help="one device of a node of 16")
    parser.add_argument("--device", help="its memory (32GiB; executed 64MiB)")
    parser.add_argument("--only", help="contestants of this name")
    arguments = parser.parse_args()
    arguments.device = arguments.device or ("64MiB" if arguments.executed else "32GiB")
    amount, unit = arguments.device[:-3], arguments.device[-3:]
    arguments.bytes = float(amount) * 2 ** {"MiB": 20, "GiB": 30}[unit]
    search = Search(arguments)
    contestants = SMALL if arguments.executed else NODE if arguments.node else FULL
    rows = [search.largest(each) for each in contestants if arguments.only in (None, each[0])]
    write_json(arguments.json, {"device": arguments.device, "rows": rows})
    print(table(rows, arguments.device))


if __name__ == "__main__":
    main()
