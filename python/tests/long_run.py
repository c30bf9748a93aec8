#!/usr/bin/env python3
"""Many steps of random lengths under sluice.offload: what the process has afterwards is what it had before.

  long_run.py [--steps N] [--seconds N] [--seed N]

Sizes, depths, budgets and ends of steps (a backward pass, an exception, a graph that is let go) are drawn anew for each
step. Prints what the process has several times on the way; exit status 1 where that grew.
"""

import argparse
import gc
import os
import random
import sys
import tempfile
import time

import torch

import sluice
from sluice.memory import pool

WARM = 200  # steps, until what is made once is there

# What may come and go: resident KiB, descriptors, mappings, threads, KiB on the disk, KiB of tensors.
SLACK = {"resident KiB": 16 << 10, "descriptors": 5, "mappings": 40, "threads": 2, "disk KiB": 1 << 10, "tensors KiB": 0}


def taken(folder: str) -> dict[str, int]:
    gc.collect()
    pool().set_limit(0)  # what is kept for later tensors is the system's again
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * (os.sysconf("SC_PAGESIZE") >> 10)
    with open("/proc/self/maps") as file:
        mappings = sum(1 for _ in file)
    held = sum(os.stat(f"/proc/self/fd/{each}").st_blocks for each in os.listdir("/proc/self/fd") if _is_in(folder, each))
    return {"resident KiB": resident, "descriptors": len(os.listdir("/proc/self/fd")), "mappings": mappings,
            "threads": len(os.listdir("/proc/self/task")), "disk KiB": held // 2, "tensors KiB": pool().used() >> 10}


def _is_in(folder: str, descriptor: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith(folder)
    except OSError:  # the listing's own
        return False


class Run:
    def __init__(self, seed: int, folder: str):
        self.random, self.folder = random.Random(seed), folder
        self.weight = torch.randn(256, requires_grad=True)

    def step(self) -> None:
        draw = self.random
        fast = draw.choice(["300KiB", "1MiB", "3MiB", 1 << 20 | draw.randrange(64) << 12])
        budget = sluice.offload(fast=fast, to=self.folder, file="16MiB")
        try:
            with budget:
                y = torch.ones(draw.randrange(64, 256), 256)
                for _ in range(draw.randrange(1, 14)):
                    y = torch.sin(y * self.weight)
                end = draw.random()
                if end < 0.1:
                    raise KeyboardInterrupt
                if end < 0.8:
                    y.sum().backward()
        except KeyboardInterrupt:
            pass
        self.weight.grad = None

    def grown(self, before: dict[str, int]) -> dict[str, int]:
        """What is more than it was, by more than may come and go."""
        now = taken(self.folder)
        return {name: now[name] - before[name] for name in now if now[name] > before[name] + SLACK[name]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=os.environ.get("SLUICE_TEST_FOLDER", "/var/tmp")) as folder:
        run = Run(options.seed, folder)
        for _ in range(WARM):
            run.step()
        before, end, step = taken(folder), time.monotonic() + options.seconds, 0
        print(f"before: {before}", flush=True)
        while step < options.steps and time.monotonic() < end:
            run.step()
            step += 1
            if step % max(1, options.steps // 10) == 0:
                print(f"step {step}: {taken(folder)}", flush=True)
        grown = run.grown(before)
        print(f"{step} steps from seed {options.seed}: {taken(folder)}; grown: {grown or 'nothing'}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
