"""Tests offload_strategies.py and offload_steps.py: what they make of a plan's words and of steps' seconds."""

import unittest

import offload_steps
import offload_strategies
import paper_ratios


class Strategies(unittest.TestCase):
    CONFIG = [["host_bytes_per_parameter", "14.17"],
              ["on_host_0", "nothing: 16.0 MiB of model states stay, 0 B a step over the link"],
              ["on_host_1", "gradients, masters, moments, update: 2.0 MiB of model states stay, 4.0 MiB a step over the link"]]

    def test_factors_are_over_everything_on_the_device(self):
        rows = offload_strategies.strategies(self.CONFIG)
        self.assertEqual([row["reduction"] for row in rows], [1, 8])
        self.assertEqual([row["link_share"] for row in rows], [0, 0.25])
        self.assertEqual(rows[1]["on_host"], "gradients, masters, moments, update")


class Steps(unittest.TestCase):
    def test_gains_are_throughput_over_throughput(self):
        seconds = dict(zip(offload_steps.WAYS, (1.0, 4.0, 2.0, 1.5)))
        gains = offload_steps.gains({"seconds": seconds})
        self.assertEqual(gains["device_over_pytorch_adam"], 4)
        self.assertEqual(gains["cpu_adam"], 2)
        self.assertEqual(gains["device_over_offloaded"], 2)
        self.assertAlmostEqual(gains["delay"], 4 / 3)

    def test_both_machines_carry_their_model_in_the_same_time(self):
        ours = 2 * paper_ratios.PARAMETERS / 6e9
        self.assertAlmostEqual(ours * paper_ratios.of_the_paper(6e9, 1), 2e9 / paper_ratios.LINK)
