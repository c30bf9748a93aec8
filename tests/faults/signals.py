#!/usr/bin/env python3
"""Sends signals to a short training at random moments, transfers in flight, and looks at what is left.

  tests/faults/signals.py --sluice COMMAND [--count N] [--plan whole|stitched|encoded|host] [--seed N]

What has to be there is what sweep.py asks for, but that the training ends as who gets such a signal does. Behind SIGKILL the
same training is run once more in the same folder: whatever was left there must neither hinder it nor stay.
"""
import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import sweep

SIGNALS = [signal.SIGKILL, signal.SIGINT, signal.SIGHUP, signal.SIGTERM]
INTERRUPTED = 130  # the exit status
COUNTS = {"quick": 6, "all": 60, "soak": 2000}


class Interrupted(sweep.Training):
    """A training that gets a signal so many seconds behind its start."""

    def __init__(self, arguments, folder):
        self.what, self.when, self.ended = None, 0.0, 0
        super().__init__(arguments, folder)
        start = time.monotonic()
        self.checkpoint_of(sweep.STEPS)
        self.seconds = time.monotonic() - start

    def call(self, words, folder):
        if self.what is None:
            return super().call(words, folder)
        with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment, cwd=folder) as process:
            time.sleep(self.when)
            self.ended += process.poll() is None
            process.send_signal(self.what)
            out, error = process.communicate(timeout=sweep.PATIENCE)
        if self.what == signal.SIGKILL:
            return super().call(words, folder)
        return subprocess.CompletedProcess(words, process.returncode, out, error)

    def ended_badly(self, done):
        return None if done.returncode in (-self.what, INTERRUPTED) else super().ended_badly(done)

    def run(self, fault):
        self.what, self.when = fault
        try:
            return self.in_folder(sweep.STEPS, [], self.judge)
        except subprocess.TimeoutExpired:
            return f"does not end within {sweep.PATIENCE} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sluice", required=True)
    parser.add_argument("--count", type=int, default=COUNTS[os.environ.get("SLUICE_TEST_SET", "quick")])
    parser.add_argument("--plan", choices=sweep.PLANS, default="stitched")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments = parser.parse_args()
    arguments.sluice, arguments.library = os.path.abspath(arguments.sluice), None
    generator, wrong = random.Random(arguments.seed), 0
    with tempfile.TemporaryDirectory(prefix="sluice-signals-", dir=os.environ.get("SLUICE_FAULTS_DISK")) as folder:
        training = Interrupted(arguments, pathlib.Path(folder))
        for _ in range(arguments.count):
            fault = (generator.choice(SIGNALS), generator.uniform(0, training.seconds))
            if verdict := training.run(fault):
                wrong += 1
                print(f"{fault[0].name} {fault[1]:.3f} s behind the start: {verdict}", flush=True)
        print(f"plan {arguments.plan}, seed {arguments.seed}: {arguments.count} signals, {training.ended} of them before the end; "
              f"{wrong} not ended cleanly")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
