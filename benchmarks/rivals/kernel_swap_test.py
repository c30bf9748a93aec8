#!/usr/bin/python3
"""Tests kernel_swap.py without swapping: bad arguments, what is skipped and why, and how rows are judged."""

import contextlib
import io
import os
import sys
import tempfile
import time
import unittest
from unittest import mock

import kernel_swap
from contestants import Contestant, Lost, TooSlow
from memory_cgroup import MemoryCgroup, Unavailable, find_parent
from swap_file import SwapFile

VERSION_1 = ("29 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
             "30 1 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
             "31 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
VERSION_2 = "30 1 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


def run(*arguments):
    """Exit status and what was printed."""
    printed = io.StringIO()
    with mock.patch.object(sys, "argv", ["kernel_swap.py", *arguments]), contextlib.redirect_stdout(printed), \
            contextlib.redirect_stderr(printed):
        try:
            return kernel_swap.main() or 0, printed.getvalue()
        except SystemExit as end:
            return end.code, printed.getvalue()


class Arguments(unittest.TestCase):
    def test_bad_ones_are_named(self):
        for arguments, named in ((["nonesuch"], "nonesuch"), (["resnet20"], "resnet20"), (["resnet50:0"], "resnet50:0"),
                                 (["resnet50:x"], "resnet50:x"), (["--rounds", "0"], "--rounds"),
                                 (["--limit", "0"], "--limit"), (["--rounds", "x"], "--rounds"), (["--bad"], "--bad")):
            status, printed = run(*arguments)
            self.assertEqual(status, 2, arguments)
            self.assertIn(named, printed)

    def test_help_has_examples(self):
        status, printed = run("--help")
        self.assertEqual(status, 0)
        self.assertIn("kernel_swap.py resnet50:16", printed)

    def test_a_missing_program_is_named(self):
        status, _ = run("--binary", "/nonesuch/sluice")
        self.assertIn("/nonesuch/sluice", status)


class Skipping(unittest.TestCase):
    def skipped(self, folder):
        return run("resnet20:8", "--binary", sys.executable, "--spill-dir", folder)

    def test_without_root(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("os.geteuid", return_value=1000):
            self.assertEqual(self.skipped(folder), (77, "skipped: control groups and swap files need root\n"))

    def test_without_control_groups(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("os.geteuid", return_value=0), \
                mock.patch("kernel_swap.MemoryCgroup", side_effect=Unavailable("no control groups are mounted")):
            self.assertEqual(self.skipped(folder), (77, "skipped: no control groups are mounted\n"))
            self.assertEqual(os.listdir(folder), [])

    def test_where_the_disk_has_no_room(self):
        with tempfile.TemporaryDirectory() as folder:
            swap = SwapFile(folder, 1 << 60)
            with self.assertRaisesRegex(Unavailable, "no swap file of"):
                swap.make()
            swap.remove()
            self.assertEqual(os.listdir(folder), [])

    def test_with_too_little_room_for_all(self):
        options = mock.Mock(spill_dir="/")
        with self.assertRaisesRegex(Unavailable, "MiB free"):
            kernel_swap.require_room(options, 1 << 60)


class ControlGroups(unittest.TestCase):
    def test_version_1_goes_below_our_own_group(self):
        self.assertEqual(find_parent(VERSION_1, "5:cpu:/\n4:memory:/a/b\n0::/\n"), (1, "/sys/fs/cgroup/memory/a/b"))
        inside = VERSION_1.replace("0:28 /", "0:28 /a")
        self.assertEqual(find_parent(inside, "4:memory:/a/b\n"), (1, "/sys/fs/cgroup/memory/b"))

    def test_version_2_goes_below_the_root(self):
        self.assertEqual(find_parent(VERSION_2, "0::/user.slice\n"), (2, "/sys/fs/cgroup"))

    def test_none(self):
        with self.assertRaises(Unavailable):
            find_parent("22 1 0:20 / /proc rw - proc proc rw\n", "")

    def test_groups_without_memory_limits_are_left_as_they_were(self):
        with tempfile.TemporaryDirectory() as folder:
            mounts = os.path.join(folder, "mountinfo")
            with open(mounts, "w") as file:
                file.write(VERSION_2.replace("/sys/fs/cgroup", folder))
            group = MemoryCgroup("test", mountinfo=mounts, membership="/dev/null")
            with self.assertRaisesRegex(Unavailable, "subtree_control"):
                group.make()
            group.remove()
            self.assertEqual(os.listdir(folder), ["mountinfo"])


class Contestants(unittest.TestCase):
    def worker(self, code, **more):
        contestant = Contestant("tested", [sys.executable, "-c", code], **more)
        self.addCleanup(contestant.end)
        return contestant

    def state(self, contestant):
        with open(f"/proc/{contestant.process.pid}/stat") as file:
            return file.read().rpartition(") ")[2][0]

    def test_it_sleeps_between_its_turns(self):
        code = ("import json, sys\n"
                "for line in sys.stdin:\n"
                "    state = open('/proc/self/stat').read().rpartition(') ')[2][0]\n"
                "    print(json.dumps({'ok': True, 'state': state}), flush=True)")
        contestant = self.worker(code, setup={"plan": "x"})
        for _ in range(3):
            self.assertEqual(self.state(contestant), "T")
            self.assertEqual(contestant.ask({"command": "step"})["state"], "R")
        contestant.finish()
        self.assertEqual(contestant.process.poll(), 0)

    def test_too_slow_a_one_is_ended(self):
        begin = time.monotonic()
        contestant = self.worker("import time; time.sleep(60)")
        with self.assertRaises(TooSlow):
            contestant.ask({"command": "step"}, limit=0.1)
        self.assertIsNotNone(contestant.process.poll())
        self.assertLess(time.monotonic() - begin, 30)

    def test_one_that_dies_says_how(self):
        with self.assertRaisesRegex(Lost, "tested: ended with status 3"):
            self.worker("import sys; sys.stdin.readline(); sys.exit(3)").ask({})
        with self.assertRaisesRegex(Lost, "out of memory"):
            self.worker("import os, sys; sys.stdin.readline(); os.kill(os.getpid(), 9)").ask({})

    def test_none_is_left_when_its_setup_fails(self):
        with mock.patch.object(Contestant, "end", autospec=True, side_effect=Contestant.end) as end, \
                self.assertRaisesRegex(Lost, "no such plan"):
            self.worker('print(\'{"ok": false, "message": "no such plan"}\', flush=True); input(); input()',
                   setup={"plan": "x"})
        self.assertIsNotNone(end.call_args.args[0].process.poll())


class Rows(unittest.TestCase):
    def row(self, losses, digest="a"):
        base = mock.Mock(seconds=[1.0, 2.0], losses=[3.0, 2.0])
        contestant = mock.Mock(seconds=[2.0], losses=losses)
        contestant.name = "swap"
        row = kernel_swap.row_of(contestant, base, {"peak_rss_bytes": 1, "parameter_hash": digest}, {})
        return {**row, "same_parameters": digest == "a" if len(losses) == 2 else None}

    def test_slowdown_goes_by_the_same_steps(self):
        self.assertEqual(self.row([3.0])["slowdown"], {"median": 2.0, "min": 2.0, "max": 2.0})

    def test_other_losses_or_parameters_are_different(self):
        self.assertEqual(kernel_swap.result_of(self.row([3.0])), "same losses of 1 steps")
        self.assertEqual(kernel_swap.result_of(self.row([3.0, 2.0])), "same after 2 steps")
        self.assertEqual(kernel_swap.result_of(self.row([3.5])), "DIFFERENT")
        self.assertEqual(kernel_swap.result_of(self.row([3.0, 2.0], "b")), "DIFFERENT")


if __name__ == "__main__":
    unittest.main()
