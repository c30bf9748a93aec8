#!/usr/bin/python3
"""A command with a link as slow beside this machine's compute as another one's is beside its GPU.

    link_beside_compute.py --carries N sluice COMMAND MODEL [OPTION...]

    link_beside_compute.py --carries 0.5 sluice compare resnet50 --batch 16 --slow pcie3 --fast 49% --planners home,joint

The link carries N times, in a step with everything in fast memory, what everything takes: `sluice simulate` says how long
the step is and how much that takes, and the command runs with --link-bandwidth. Both links are emulated. The command line
that is run is printed first.
"""

import argparse
import os
import subprocess
import sys

from processes import json_of

# Options of the command that are no matter of the model or its machine, with how many words follow each.
NOT_SIMULATED = {"--fast": 1, "--planner": 1, "--planners": 1, "--starts": 1, "--steps": 1, "--json": 1, "--html": 1,
                 "--spill-dir": 1, "--smallest-feasible": 0}


def simulated(words):
    """The words that `sluice simulate` gets, too."""
    kept = []
    left = iter(words)
    for word in left:
        if word not in NOT_SIMULATED:
            kept.append(word)
        for _ in range(NOT_SIMULATED.get(word, 0)):
            next(left, None)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--carries", type=float, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if len(arguments.command) < 3:
        parser.error("which command?")
    sluice, *rest = arguments.command
    step = json_of([sluice, "simulate", *simulated(rest[1:]), "--planner", "fast-only"])
    link = f"{arguments.carries * step['fast_only_bytes'] / step['predicted_ms'] / 1e6:.3f}GB/s"
    print(f"$ sluice {' '.join(rest)} --link-bandwidth {link}", flush=True)
    return subprocess.run([os.path.abspath(sluice), *rest, "--link-bandwidth", link], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
