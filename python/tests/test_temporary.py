"""Folders that are gone with the process, however it ends; no PyTorch."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from sluice.temporary import TemporaryFolder

MAKES_ONE = """
import os, sys, time
from sluice.temporary import TemporaryFolder
folder = TemporaryFolder(sys.argv[1])
open(os.path.join(folder.name, "weights"), "wb").write(bytes(1 << 20))
"""


class TemporaryFolderTest(unittest.TestCase):
    def setUp(self):
        within = tempfile.TemporaryDirectory()
        self.addCleanup(within.cleanup)
        self.within = within.name

    def run_and_kill(self, code):
        child = subprocess.Popen([sys.executable, "-c", MAKES_ONE + code, self.within], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        said = child.stdout.readline()
        self.assertEqual(len(os.listdir(self.within)), 1)
        child.kill()
        child.wait()
        return said

    def assert_gone(self):
        end = time.monotonic() + 60
        while os.listdir(self.within) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(os.listdir(self.within), [])

    def test_a_killed_process_leaves_none(self):
        self.run_and_kill("print('made', flush=True); time.sleep(600)")
        self.assert_gone()

    def test_nor_does_one_whose_child_lives_on(self):
        said = self.run_and_kill("child = os.fork()\nif child: print(child, flush=True)\ntime.sleep(600)")
        self.assert_gone()
        os.kill(int(said), signal.SIGKILL)

    def test_what_is_hidden_has_no_name_until_it_is_shown(self):
        with_weights = TemporaryFolder(self.within)
        path = os.path.join(with_weights.name, "weights")
        with open(path, "wb") as file:
            file.write(b"1234" * 1000)
        with_weights.hide()
        self.assertEqual(os.listdir(with_weights.name), [])
        for _ in range(2):
            with with_weights.shown():
                with open(path, "rb") as file:
                    self.assertEqual(file.read(), b"1234" * 1000)
            self.assertEqual(os.listdir(with_weights.name), [])
        with_weights.close()
        self.assertEqual(os.listdir(self.within), [])

    def test_a_child_does_not_remove_it(self):
        folder = TemporaryFolder(self.within)
        child = os.fork()
        if child == 0:
            folder.close()
            os._exit(0)
        os.waitpid(child, 0)
        self.assertTrue(os.path.isdir(folder.name))
        folder.close()
        self.assertEqual(os.listdir(self.within), [])

    def test_closing_ends_the_watcher(self):
        with TemporaryFolder(self.within) as name:
            self.assertEqual(os.listdir(self.within), [os.path.basename(name)])
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        self.assertEqual(os.listdir(self.within), [])


if __name__ == "__main__":
    unittest.main()
