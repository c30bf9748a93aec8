"""Steps by plain PyTorch and under sluice.offload: the same bits, or the same error."""

import tempfile
import unittest

import torch

import autograd_fuzz
import sluice

SIZE = (512, 256)  # 512 KiB


def numbers(seed, *shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


class BesidePlain(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def budgets(self):
        return [sluice.Offload(fast, self.folder.name, file="64MiB") for fast in ("1MiB", "1GiB")]

    def assert_plain(self, step):
        """`step` returns tensors: the same under each budget, a step that reacts and one that is planned."""
        plain = [autograd_fuzz.bits(each) for each in step()]
        for budget in self.budgets():
            for _ in range(2):
                with budget:
                    self.assertEqual([autograd_fuzz.bits(each) for each in step()], plain)

    def assert_refused(self, step, why="modified by an inplace operation"):
        """By plain PyTorch, and by us, whether it had left or not."""
        with self.assertRaises(RuntimeError):
            step()
        for budget in self.budgets():
            with self.assertRaisesRegex(RuntimeError, why):
                with budget:
                    step()
