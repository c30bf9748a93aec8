"""The options that only the command gets."""

import unittest

from link_beside_compute import simulated


class SimulatedWords(unittest.TestCase):
    def test_model_and_machine_stay(self):
        words = "resnet50 --batch 16 --slow pcie3 --fast 49% --planners home,joint --starts 2 --json out --smallest-feasible --momentum 0"
        self.assertEqual(simulated(words.split()), "resnet50 --batch 16 --slow pcie3 --momentum 0".split())

    def test_an_option_without_its_value_ends_it(self):
        self.assertEqual(simulated(["lstm", "--fast"]), ["lstm"])
