#!/usr/bin/python3
"""ZeRO-Offload's figure 5.14 by simulation: a step of a billion parameters, one technique after the other, in small batches.

    benchmarks/offload_steps.py --json offload_steps.json

paper_ratios.py says how a small GPT-2 stands for one of a billion parameters, and where the paper's times are from. Here the host's
updates take what table 5.4 has for PyTorch's Adam on the CPU, then what it has for CPU-Adam, then they are delayed by a step.
Gradients are clipped, so that the host begins when the last gradient is there, as the paper's does. One batch a step: the paper
does not say whether its steps of batch 1 to 8 add up several. Nothing is executed; every figure is simulated.
"""
import statistics
import tempfile

import paper_ratios
from processes import parser_of, write_json

BATCHES = (1, 2, 4, 8)
BILLIONS, PYTORCH_ADAM = 1, 1.39  # seconds on the CPU: table 5.4
_, CPU_ADAM, DEVICE_ADAM = paper_ratios.PAPER[BILLIONS]
# name: (planner, seconds of Adam on the host, further options)
WAYS = {"everything on the device": ("fast-only", CPU_ADAM, []),
        "offloaded, PyTorch's Adam": ("zero-offload", PYTORCH_ADAM, []),
        "offloaded": ("zero-offload", CPU_ADAM, []),
        "offloaded, delayed": ("zero-offload", CPU_ADAM, ["--delay-updates"])}


def seconds(arguments, way, batch):
    planner, host, more = WAYS[way]
    with tempfile.TemporaryDirectory() as folder:
        case = paper_ratios.Simulated(arguments, folder, ["--clip-norm", "1", *more], paper_ratios.passes_of(BILLIONS, batch), BILLIONS,
                                      updates=(host, DEVICE_ADAM))
        return case.run(planner)["predicted_ms"] / 1e3 * paper_ratios.of_the_paper(arguments.link, BILLIONS)


def gains(row):
    """Throughput over throughput, by what the paper's text compares."""
    step = row["seconds"]
    return {"device_over_pytorch_adam": step["offloaded, PyTorch's Adam"] / step["everything on the device"],
            "cpu_adam": step["offloaded, PyTorch's Adam"] / step["offloaded"],
            "device_over_offloaded": step["offloaded"] / step["everything on the device"],
            "delay": step["offloaded"] / step["offloaded, delayed"]}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--link", type=float, default=paper_ratios.LINK, help="bytes a second of the emulated link")
    arguments = parser.parse_args()
    rows = []
    for batch in BATCHES:
        row = {"batch": batch, "seconds": {way: seconds(arguments, way, batch) for way in WAYS}}
        rows.append({**row, "gains": gains(row)})
    means = {name: statistics.mean(row["gains"][name] for row in rows) for name in rows[0]["gains"]}
    write_json(arguments.json, {"simulated": True, "rows": rows, "mean_gains": means})
    print(f"simulated: GPT-2 of a billion parameters; seconds of a step\n{'batch':>5}" + "".join(f"{way:>28}" for way in WAYS))
    for row in rows:
        print(f"{row['batch']:>5}" + "".join(f"{row['seconds'][way]:>28.3f}" for way in WAYS))
    for name, value in means.items():
        print(f"{name.replace('_', ' ')}: {value:.2f} x, mean over the batches")


if __name__ == "__main__":
    main()
