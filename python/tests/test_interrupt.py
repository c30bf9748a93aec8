"""Ctrl-C and death: the command ends with the program that called it."""

import os
import signal
import subprocess
import sys
import time
import unittest

LONG = (
    "import sluice\n"
    "print('begun', flush=True)\n"
    "try:\n"
    "    sluice.sweep('resnet20:2', fast='60%', planners='on-demand', run=True, steps=100000, threads=1, slow='optane', quiet=True)\n"
    "except KeyboardInterrupt:\n"
    "    print('interrupted', flush=True)\n"
    "    raise\n"
)
PATIENCE = 60  # seconds


def children(process: int) -> list:
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def is_gone(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(condition) -> bool:
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(condition())


class InterruptTest(unittest.TestCase):
    def setUp(self):
        self.program = subprocess.Popen(
            [sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self.addCleanup(self.program.communicate)
        self.addCleanup(self.program.kill)
        self.assertEqual(self.program.stdout.readline(), "begun\n")
        self.assertTrue(wait_until(lambda: children(self.program.pid)))
        self.command = children(self.program.pid)[0]
        time.sleep(1)  # it measures or runs

    def test_ctrl_c_is_a_keyboard_interrupt(self):
        os.kill(self.program.pid, signal.SIGINT)
        output, errors = self.program.communicate(timeout=PATIENCE)
        self.assertEqual(output, "interrupted\n")
        self.assertTrue(errors.rstrip().endswith("KeyboardInterrupt"), errors)
        self.assertEqual(self.program.returncode, -signal.SIGINT)
        self.assertTrue(is_gone(self.command))

    def test_a_program_that_is_killed_leaves_no_command_behind(self):
        self.program.kill()
        self.program.wait()
        self.assertTrue(wait_until(lambda: is_gone(self.command)))
