#!/usr/bin/python3
"""Times the fused host step beside PyTorch's Adam on the CPU (ZeRO-Offload's table 5.4), step by step in turn.

    compare_adam.py [--elements N] [--rounds N] [--threads N] [--binary HOST_STEP] [--json OUT] [--help]

One flat tensor of fp32 parameters; everybody also writes the new parameters in bf16. PyTorch runs twice: as it is, and with
glibc told to keep the pages of big tensors, which otherwise go back to the kernel after every operation. Its gradient is
fp32 already; ours is bf16 and brought to fp32 on the way. Ratios are taken within a round; shown are medians, with the least
and the most. Needs Debian's python3-torch.
"""

import argparse
import json
import os
import statistics
import sys
import time

from contestants import ROOT, Contestant, environment, spread, write_json

KEEPING = {"MALLOC_MMAP_THRESHOLD_": str(1 << 34), "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 30)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--elements", type=int, default=100_000_000, help="(default %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="(default %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="(default: all processors)")
    parser.add_argument("--binary", default=os.path.join(ROOT, "build/release/benchmarks/host_step/host_step"))
    parser.add_argument("--json", help="write the results to this file too")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def serve(options):
    """The rival: a step whenever a line comes in."""
    import torch
    torch.set_num_threads(options.threads)
    torch.manual_seed(7)
    parameter = torch.nn.Parameter(torch.randn(options.elements))
    parameter.grad = torch.randn(options.elements)
    half = torch.empty(options.elements, dtype=torch.bfloat16)
    adam = torch.optim.Adam([parameter], lr=1e-3)
    for _ in sys.stdin:
        begin = time.perf_counter()
        adam.step()
        half.copy_(parameter.detach())
        print(json.dumps({"ok": True, "step_seconds": time.perf_counter() - begin}), flush=True)


def contestants(options):
    size = ["--serve", str(options.elements), "--threads", str(options.threads)]
    torch = [sys.executable, os.path.abspath(__file__), "--serve", "--elements", str(options.elements), "--threads",
             str(options.threads)]
    threads = f"OMP_NUM_THREADS={options.threads}"
    keeping = [f"{name}={value}" for name, value in KEEPING.items()]
    return [Contestant("sluice", ["env", threads, options.binary, *size]),
            Contestant("PyTorch as it is", ["env", threads, *torch]),
            Contestant("PyTorch keeping its pages", ["env", threads, *keeping, *torch])]


def main():
    options = arguments()
    if options.serve:
        serve(options)
        return
    runners = contestants(options)
    for number in range(-1, options.rounds):
        for turn in range(len(runners)):
            runner = runners[(turn + number) % len(runners)]
            seconds = runner.ask({"command": "step"})["step_seconds"]
            if number >= 0:  # the first round warms up
                runner.seconds.append(seconds)
    for runner in runners:
        runner.end()
    rows = [{"name": runner.name, "step_seconds": runner.seconds,
             "over_sluice": spread([a / b for a, b in zip(runner.seconds, runners[0].seconds)])} for runner in runners]
    print(f"{options.elements} parameters, {options.threads} threads, {options.rounds} rounds")
    for row in rows:
        ratio = row["over_sluice"]
        print(f"  {row['name']:<28}{1e3 * statistics.median(row['step_seconds']):>9.1f} ms"
              f"{ratio['median']:>9.2f}x ({ratio['least']:.2f}-{ratio['most']:.2f})")
    write_json(options.json, {"processor": environment()["cpu"], "elements": options.elements, "threads": options.threads, "rows": rows})


if __name__ == "__main__":
    main()
