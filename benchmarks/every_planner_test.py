"""Tests every_planner.py."""

import unittest

import every_planner


class EveryPlanner(unittest.TestCase):
    def test_reasons_are_words(self):
        self.assertEqual(every_planner.reason_of("sluice: home cannot train net in 4.0 MiB of fast memory; the smallest budget "
                                                 "it can use is 5.1 MiB (50.2 % of the 10.2 MiB that everything takes)."), ">51%")
        self.assertEqual(every_planner.reason_of("sluice: vdnn cannot train net in 4.0 MiB of fast memory: the slow tiers fill "
                                                 "up (file with 0 B)."), "full")
        self.assertIsNone(every_planner.reason_of("terminate called after throwing"))

    def test_the_table_counts_plans_and_refusals(self):
        cells = [{"model": "a", "planner": "home", "budget": "20%", "ratio": 1.0},
                 {"model": "b", "planner": "home", "budget": "20%", "ratio": 4.0},
                 {"model": "c", "planner": "home", "budget": "20%", "reason": ">30%"},
                 {"model": "d", "planner": "home", "budget": "20%", "reason": "FAILED"}]
        lines = every_planner.tables(cells, ["home"], ["20%"]).splitlines()
        self.assertRegex(lines[-1], r"home +2\.000  2/1/1")
        self.assertRegex(lines[1], r"home +1\.000")
        self.assertIn(">30%", "\n".join(lines))
