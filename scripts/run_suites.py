#!/usr/bin/env python3
"""Runs test programs, a few at a time, and says what each took.

  scripts/run_suites.py --build DIR [--set quick|all|soak] [--filter GTEST_FILTER] [--prefix "COMMAND ..."] [--slower N] [SUITE...]
  scripts/run_suites.py --build DIR --list

A suite is a program `sluice_NAME_test` of the build, by default each of them. tests/suites.txt says how many seconds of
processor time each may take; a suite that takes more is told at the end, so that it is mended or given more on purpose.
Long suites run in several processes (googletest's shards).

Ends with the time of every suite, the ten slowest tests and `N passed, N failed`; exit status 1 when a test failed.
  --slower N   the budgets times N: sanitizers
  --prefix     put before each program, as `setarch x86_64 -R`
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
USUAL_BUDGET = 10  # seconds, of a suite that the table does not name
SECONDS_A_PROCESS = 15  # of a budget: a longer suite is split
TIMEOUT = {"quick": 900, "all": 1800, "soak": 86400}  # seconds of a process


def read_budgets(which):
    """Seconds by suite; a line is `suite quick all`."""
    budgets = {}
    for line in (ROOT / "tests" / "suites.txt").read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            budgets[words[0]] = float(words[1 if which == "quick" else 2])
    return budgets


def find_programs(build):
    found = {}
    for folder in ("sluice", "tests/*", "benchmarks/*"):
        for path in pathlib.Path(build).glob(f"{folder}/sluice_*_test"):
            found[path.name[len("sluice_"):-len("_test")]] = path
    return found


class Suite:
    """What the processes of a suite did, added up."""

    def __init__(self, name, budget):
        self.name, self.budget = name, budget
        self.passed = self.failed = self.skipped = 0
        self.seconds = 0.0  # of processors
        self.slowest = []  # (seconds, test)
        self.lock = threading.Lock()

    def add_report(self, report):
        for group in report.get("testsuites", []):
            for test in group["testsuite"]:
                if test.get("failures"):
                    self.failed += 1
                elif test["result"] == "SKIPPED":
                    self.skipped += 1
                elif test["result"] == "COMPLETED":
                    self.passed += 1
                self.slowest.append((float(test["time"][:-1]), f"{group['name']}.{test['name']}"))


def children_seconds(child):
    """Waits for a process; its exit status and the processor time that it and its children took."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_utime + usage.ru_stime


def run_shard(suite, program, shard, shards, options):
    environment = dict(os.environ, GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX=str(shard), SLUICE_TEST_SET=options.set)
    environment.setdefault("GOMP_SPINCOUNT", "10000")  # busy machines: waiting threads give up their core sooner
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = shlex.split(options.prefix) + ["timeout", str(TIMEOUT[options.set]), str(program), f"--gtest_filter={options.filter}",
                                                 f"--gtest_output=json:{report}"]
        with open(pathlib.Path(folder) / "log", "w+", errors="replace") as log:
            status, seconds = children_seconds(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
            with suite.lock:
                suite.seconds += seconds
                failed_before = suite.failed
                if report.exists():
                    suite.add_report(json.loads(report.read_text()))
                if status == 0:
                    return
                suite.failed += suite.failed == failed_before  # it died, and no test of it says so
            log.seek(0)
            lines = [line for line in log if not line.startswith(("[ RUN", "[       OK", "[------"))]
            print(f"== {suite.name}, process {shard + 1} of {shards}: exit status {status}\n" + "".join(lines[-100:]), flush=True)


def print_times(suites):
    print("== suites: seconds of processor time, of how many")
    for suite in sorted(suites, key=lambda each: -each.seconds):
        over = "  OVER ITS BUDGET (tests/suites.txt)" if suite.seconds > suite.budget else ""
        print(f"{suite.name:22} {suite.seconds:7.1f} of {suite.budget:6.0f}  {suite.passed:5} passed"
              + (f", {suite.failed} FAILED" if suite.failed else "") + (f", {suite.skipped} skipped" if suite.skipped else "") + over)
    print("== the ten slowest tests")
    for seconds, name in sorted((each for suite in suites for each in suite.slowest), reverse=True)[:10]:
        print(f"{seconds:7.1f} s  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--list", action="store_true", help="print the suites of the build instead")
    parser.add_argument("--set", choices=("quick", "all", "soak"), default="quick")
    parser.add_argument("--filter", default="*")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--slower", type=float, default=1)
    parser.add_argument("suites", nargs="*")
    options = parser.parse_args()
    programs = find_programs(options.build)
    names = options.suites or sorted(set(programs) - {"numa"})  # which needs a machine of its own
    if options.list:
        print("\n".join(names))
        return 0
    missing = [name for name in names if name not in programs]
    if missing or not names:
        sys.exit(f"run_suites: {options.build} has no program of {', '.join(missing) or 'any suite'}; build it first")
    budgets = read_budgets(options.set)
    suites = [Suite(name, budgets.get(name, USUAL_BUDGET) * options.slower) for name in names]
    began, running = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for suite in sorted(suites, key=lambda each: -each.budget):  # the longest first, so that none is alone at the end
            shards = max(1, min(16, round(suite.budget / options.slower / SECONDS_A_PROCESS)))
            for shard in range(shards):
                running.append(pool.submit(run_shard, suite, programs[suite.name], shard, shards, options))
    for each in running:
        each.result()
    for suite in suites:
        if suite.passed + suite.failed == 0:
            print(f"== {suite.name} ran no test")
            suite.failed = 1
    print_times(suites)
    passed, failed = (sum(getattr(each, what) for each in suites) for what in ("passed", "failed"))
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
