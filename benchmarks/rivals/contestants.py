"""Contestants of a comparison: processes that take training steps one by one, on request.

A request and its answer are one JSON line each way (sluice/experiment/worker.hpp). Each contestant is a process of its own,
so that its peak resident size is its own, and whoever compares them decides who steps when. A contestant is stopped
(SIGSTOP) as soon as it has answered and woken (SIGCONT) for its next request: threads that spin after their last work
take no processor from whoever is next, and each runs with the settings that it would have alone.
"""

import contextlib
import ctypes
import datetime
import json
import os
import platform
import select
import signal
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, "benchmarks"))
from processes import parser_of, run, run_well, spread, write_json  # noqa: E402, for the scripts beside this one, too

MIB = 1 << 20
PYTHON = "/usr/bin/python3"  # Debian's, for Debian's python3-torch
LEARNING_RATE = 0.01
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
SEQUENCES = {"lstm": 35, "bert_base": 128, "bert_large": 128, "gpt2_small": 256}


def contest_parser(doc):
    """With the options that all contests have; a script adds its own."""
    parser = parser_of(doc)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser


def rotated(contestants, turn):
    """Whoever is first changes from turn to turn, so that a drift of the machine meets all alike."""
    shift = turn % len(contestants)
    return contestants[shift:] + contestants[:shift]


def run_script(main):
    try:
        sys.exit(main())
    except Lost as lost:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {lost}")


class Lost(Exception):
    """A contestant or a command of `sluice` that failed; says which, and why (`reason`)."""

    def __init__(self, name, reason):
        super().__init__(f"{name}: {reason}")
        self.reason = reason


class TooSlow(Exception):
    """A contestant that has not answered in the time it was given, and was ended."""


class Contestant:
    def __init__(self, name, command, setup=None, before_exec=None, limit=None):
        """`before_exec` is called in the new process; `limit` is how many seconds the setup may take."""
        self.name = name
        self.seconds = []  # of counted steps
        self.losses = []   # of all steps
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: prepare_child(before_exec))
        try:
            self.notes = self.ask({"command": "setup", **setup}, limit).get("notes", []) if setup else []
        except BaseException:
            self.end()
            raise

    def ask(self, request, limit=None):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            if limit is not None and not select.select([self.process.stdout], [], [], limit)[0]:
                self.end()
                raise TooSlow(f"{self.name}: no answer in {limit} s")
            answer = json.loads(self.process.stdout.readline() or "null")
        except BrokenPipeError:
            answer = None
        if not answer or not answer["ok"]:
            reason = answer["message"] if answer else how_it_ended(self.process.wait())
            raise Lost(self.name, reason)
        self.stop()
        return answer

    def stop(self):
        """Returns when all its threads are stopped, or it has ended."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def step(self, index, counted, limit=None):
        answer = self.ask({"command": "step", "step": index, "learning_rate": LEARNING_RATE}, limit)
        self.losses.append(answer["loss"] if "loss" in answer else float_of_bits(answer["loss_bits"]))
        if counted:
            self.seconds.append(answer["step_seconds"])
        return answer

    def finish(self, limit=None):
        summary = self.ask({"command": "finish"}, limit)
        self.process.stdin.close()
        self.process.send_signal(signal.SIGCONT)  # stopped, it would see no end of its input
        self.process.wait()
        return summary

    def end(self):
        """Ends the process at once, whatever it does."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):  # of a request that was not sent
                pipe.close()


def prepare_child(before_exec):
    """In the new process: it dies with its parent, stopped or not."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if before_exec:
        before_exec()


def how_it_ended(status):
    if status == -signal.SIGKILL:  # nobody else's doing: end() leaves no one to ask
        return "killed: out of memory"
    return f"ended with status {status}"


def float_of_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def run_quietly(command):
    outcome = run(command)
    if outcome.returncode != 0:
        raise Lost(" ".join(command), f"failed\n{outcome.stdout}{outcome.stderr}")


def require_pytorch():
    if not os.path.exists(PYTHON) or run([PYTHON, "-c", "import torch, numpy"]).returncode != 0:
        print("skipped: PyTorch is not installed for /usr/bin/python3; run scripts/install_packages.sh rivals")
        sys.exit(77)


def workload_settings(model, batch, dropout=0.0):
    """What `sluice` is told of a model, by the names of its options."""
    settings = {"model": model, "batch": batch}
    if model in SEQUENCES:
        settings["sequence"] = SEQUENCES[model]
        settings["dropout"] = dropout
    return settings


def sluice_plan(options, settings, planner, budget, folder, extra=(), tiers=()):
    """Has `sluice` measure the machine, with these --slow tiers, and make the plan; returns what a worker's setup needs."""
    machine = os.path.join(folder, "machine.json")
    plan = os.path.join(folder, f"{settings['model']}.{planner}.plan.json")
    slow = ["--spill-dir", options.spill_dir, "--threads", str(options.threads), *(f"--slow={tier}" for tier in tiers)]
    if not os.path.exists(machine):
        run_quietly([options.sluice, "machine", *slow, "--json", machine])
    run_quietly([options.sluice, "plan", settings["model"], *slow, "--planner", planner, "--output", plan,
                 *(f"--{name.replace('_', '-')}={value}" for name, value in settings.items() if name != "model"),
                 *(["--fast", budget] if budget else []), *extra])
    with open(machine) as file:
        return {"machine": json.load(file), "plan": plan, "seed": 1, "data": "synthetic",
                "workload": {**settings, "momentum": 0.9, "weight_decay": 1e-4, "threads": options.threads}}


def environment():
    commit = run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"])
    with open("/proc/cpuinfo") as cpuinfo:
        cpu = next((line.split(":")[1].strip() for line in cpuinfo if line.startswith("model name")), platform.machine())
    return {"cpu": cpu, "commit": commit.stdout.strip() or "unknown",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
