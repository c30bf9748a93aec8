#!/usr/bin/python3
"""Which of OpenBLAS' kernels are fastest on this very processor, by a short matrix product with each.

    openblas_core.py [--threads T]      prints what each gives, and the fastest

OpenBLAS picks its kernels by the processor's model, and one newer than the library gets those of 2004 ("Prescott"),
several times too slow. OPENBLAS_CORETYPE names others. Each candidate is tried in a process of its own, with the same
library that Debian's PyTorch links, because the choice is made once when it is loaded, and because kernels for another
processor may use instructions that this one has not.
"""

import argparse
import json
import os
import re
import subprocess
import sys

PYTHON = "/usr/bin/python3"
OWN_CHOICE = ""  # what OpenBLAS does when it is not told
CANDIDATES = [OWN_CHOICE, "Prescott", "Sandybridge", "Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids"]
TURNS = 2        # through all candidates, so that a disturbance does not decide

PRODUCT = """
import time, numpy
size = 1024
left = numpy.full((size, size), 0.5, dtype=numpy.float32)
right = left.T.copy()
left @ right
seconds = []
for _ in range(5):
    start = time.perf_counter()
    left @ right
    seconds.append(time.perf_counter() - start)
print(2e-9 * size ** 3 / min(seconds))
"""


def measure(core, environment):
    """(kernels that OpenBLAS says it uses, GFLOP/s), or None where this processor cannot run them."""
    told = {**environment, "OPENBLAS_VERBOSE": "2"}
    told.pop("OPENBLAS_CORETYPE", None)
    if core != OWN_CHOICE:
        told["OPENBLAS_CORETYPE"] = core
    outcome = subprocess.run([PYTHON, "-c", PRODUCT], env=told, capture_output=True, text=True)
    used = re.search(r"^Core: (\S+)", outcome.stdout + outcome.stderr, re.MULTILINE)
    if outcome.returncode != 0 or used is None:
        return None
    return used.group(1), float(outcome.stdout.split()[-1])


def fastest_core(environment):
    """{"core": its OPENBLAS_CORETYPE, "gflops": {kernels: GFLOP/s}, "own_choice": kernels that OpenBLAS would take}.

    core is "" where none could be measured (no NumPy, or another library than OpenBLAS).
    """
    gflops = {}
    own_choice = ""
    for _ in range(TURNS):
        for core in CANDIDATES:
            measured = measure(core, environment)
            if measured is None:
                continue
            used, speed = measured
            gflops[used] = max(gflops.get(used, 0.0), speed)
            if core == OWN_CHOICE:
                own_choice = used
    core = max(gflops, key=gflops.get) if gflops else ""
    return {"core": core, "gflops": {used: round(speed, 1) for used, speed in gflops.items()}, "own_choice": own_choice}


def describe(found):
    if not found["gflops"]:
        return "OpenBLAS' kernels could not be measured; left to its own choice"
    speeds = ", ".join(f"{used} {speed:.0f}" for used, speed in sorted(found["gflops"].items(), key=lambda e: -e[1]))
    return (f"OpenBLAS kernels: {found['core']} is fastest (GFLOP/s: {speeds}); "
            f"its own choice would be {found['own_choice'] or 'unknown'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    from pytorch_step import rival_libraries
    environment, _ = rival_libraries(options.threads)
    found = fastest_core(environment)
    print(describe(found), file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
