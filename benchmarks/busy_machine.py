#!/usr/bin/python3
"""What other busy programs do to training: steps on an idle machine, beside one spinning process, beside two.

    busy_machine.py [MODEL:BATCH[:IMAGE_SIZE]...] [--rounds N] [--seconds S] [--spinners N...] [--beside BINARY]
                    [--binary BINARY] [--threads T] [--spill-dir FOLDER] [--json OUT] [--help]

    busy_machine.py --json busy.json                             two models, about two minutes
    busy_machine.py resnet50:8 --rounds 3 --seconds 10
    busy_machine.py --beside OTHER/sluice --rounds 30 --spinners 0   two builds step by step in turn on an idle machine

The model trains with planner fast-only and default settings. A spinner is one thread that never waits, of the same
priority. Trainer and spinners each lead a session of their own, as programs in different terminals do; the kernel shares
processors between sessions (autogroups). A round is --seconds of steps (three at least) beside each number of spinners,
in an order that rotates. "mean" is over all steps, those included in which the trainer had yet to notice; "of idle" is
the median over rounds of the round's mean by that of its idle steps, with the least and the greatest.

With --beside two builds take single steps in turn on the idle machine, the waiting one stopped by SIGSTOP; what is
shown is the median over rounds of the time by the other build's in the same round, with quartiles.
"""

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "rivals"))
from contestants import Contestant, contest_parser, environment, rotated, run_script, sluice_plan, write_json  # noqa: E402

WORKLOADS = ["resnet32:128", "mobilenet_v1:128:32"]
LEAST_STEPS = 3
WARM_UP = 3


def arguments():
    parser = contest_parser(__doc__)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, metavar="MODEL:BATCH[:IMAGE_SIZE]")
    parser.add_argument("--rounds", type=int, default=5, help="(default %(default)s)")
    parser.add_argument("--seconds", type=float, default=3, help="of steps in a phase (default %(default)s)")
    parser.add_argument("--spinners", type=int, nargs="+", default=[0, 1, 2], help="(default 0 1 2)")
    parser.add_argument("--beside", metavar="BINARY", help="another build, to compare on the idle machine")
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds <= 0 or options.threads < 1 or 0 not in options.spinners:
        parser.error("--rounds and --threads must be at least 1, --seconds above 0, and 0 among the --spinners")
    return options


def settings_of(workload):
    model, batch, *image_size = workload.split(":")
    return {"model": model, "batch": int(batch), **({"image_size": int(image_size[0])} if image_size else {})}


def trainer(stack, name, binary, setup):
    """A process that trains, in a session of its own, warmed up."""
    contestant = Contestant(name, [binary, "worker"], setup, before_exec=os.setsid)
    stack.callback(contestant.end)
    for index in range(WARM_UP):
        contestant.step(index, counted=False)
    return contestant


@contextlib.contextmanager
def spinning(count):
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
                for _ in range(count)]
    try:
        time.sleep(0.3)
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def steps_for(contestant, seconds):
    """Step times of about so many seconds."""
    taken = []
    while len(taken) < LEAST_STEPS or sum(taken) < seconds:
        taken.append(contestant.step(len(contestant.losses), counted=True)["step_seconds"])
    return taken


def run_rounds(contestant, options):
    """For each number of spinners, the step times of every round."""
    times = {count: [] for count in options.spinners}
    for index in range(options.rounds):
        for count in rotated(options.spinners, index):
            with spinning(count):
                times[count].append(steps_for(contestant, options.seconds))
            time.sleep(0.5)
    return times


def summary(times, count):
    means = [statistics.mean(taken) for taken in times[count]]
    ratios = [mean / statistics.mean(idle) for mean, idle in zip(means, times[0])]
    every = [seconds for taken in times[count] for seconds in taken]
    return {"spinners": count, "steps": len(every), "mean_ms": statistics.mean(every) * 1e3,
            "median_ms": statistics.median(every) * 1e3, "quartiles_ms": [q * 1e3 for q in quartiles(every)],
            "of_idle": {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)},
            "step_ms": [[seconds * 1e3 for seconds in taken] for taken in times[count]]}


def quartiles(values):
    first, _, third = statistics.quantiles(values, n=4)
    return first, third


def describe(phases):
    lines = [f"{'':14}{'steps':>6}{'mean':>10}{'median':>10}{'quartiles':>22}   of idle"]
    for phase in phases:
        ratio = phase["of_idle"]
        name = "idle" if phase["spinners"] == 0 else f"{phase['spinners']} spinning"
        low, high = phase["quartiles_ms"]
        lines.append(f"{name:14}{phase['steps']:6}{phase['mean_ms']:7.1f} ms{phase['median_ms']:7.1f} ms"
                     f"{low:10.1f} to {high:5.1f} ms   {ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})")
    return "\n".join(lines)


def in_turn(one, other, rounds):
    """Each round: one step of each, first the one and then the other; the waiting one is stopped."""
    pair = [one, other]
    for contestant in pair:
        contestant.process.send_signal(signal.SIGSTOP)
    for index in range(rounds):
        for contestant in pair if index % 2 == 0 else reversed(pair):
            contestant.process.send_signal(signal.SIGCONT)
            contestant.step(len(contestant.losses), counted=True)
            contestant.process.send_signal(signal.SIGSTOP)
    ratios = [mine / theirs for mine, theirs in zip(one.seconds, other.seconds)]
    return {"rounds": rounds, "median_ms": statistics.median(one.seconds) * 1e3,
            "beside_median_ms": statistics.median(other.seconds) * 1e3,
            "ratio": {"median": statistics.median(ratios), "quartiles": list(quartiles(ratios))},
            "step_ms": [s * 1e3 for s in one.seconds], "beside_step_ms": [s * 1e3 for s in other.seconds]}


def measure(workload, options, folder):
    setup = sluice_plan(options, settings_of(workload), "fast-only", None, folder)
    with contextlib.ExitStack() as stack:
        contestant = trainer(stack, "sluice", options.sluice, setup)
        result = {"workload": workload}
        if options.beside:
            result["pair"] = in_turn(contestant, trainer(stack, "other", options.beside, setup), options.rounds)
            pair = result["pair"]
            low, high = pair["ratio"]["quartiles"]
            print(f"{pair['median_ms']:.1f} ms beside {pair['beside_median_ms']:.1f} ms of {options.beside}: "
                  f"{pair['ratio']['median']:.4f} ({low:.4f} to {high:.4f}), {options.rounds} rounds")
        else:
            times = run_rounds(contestant, options)
            result["phases"] = [summary(times, count) for count in sorted(options.spinners)]
            print(describe(result["phases"]))
        return result


def main():
    options = arguments()
    about = {**environment(), "threads": options.threads, "rounds": options.rounds, "seconds": options.seconds}
    print(f"{options.threads} threads, {options.rounds} rounds, {about['cpu']}, commit {about['commit']}")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for workload in options.workloads:
            print(f"\n{workload}", flush=True)
            results.append(measure(workload, options, folder))
    write_json(options.json, {**about, "workloads": results})


if __name__ == "__main__":
    run_script(main)
