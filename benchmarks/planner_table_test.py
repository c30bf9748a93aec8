"""Tests planner_table.py."""

import unittest

import planner_table


def row(planner, slowdown, problem="net b4", **more):
    return {"problem": problem, "machine": "disk", "percent": 20, "planner": planner, "asked_bytes": 1, "budget_bytes": 1, "slowdown": slowdown,
            "bound": 1.0, "order_bound": 1.0, "moved_bytes": 2 ** 30, "planning_seconds": 0.5, **more}


def failed(planner, problem="net b4"):
    return {"problem": problem, "machine": "disk", "percent": 20, "planner": planner, "asked_bytes": 1, "failure": "cannot"}


class Rows(unittest.TestCase):
    def test_what_has_become_worse_is_told(self):
        kept = [row("sentinel", 1.5), row("joint", 1.2), row("gone", 1.1), failed("never")]
        self.assertEqual(planner_table.worse_than(kept, kept), [])
        now = [row("sentinel", 1.6), row("joint", 1.1), row("new", 9), row("never", 9)]
        self.assertEqual(planner_table.worse_than(kept, now), ["net b4, disk, 20 %, sentinel: 1.600, before 1.500"])
        now[1] = failed("joint")
        self.assertEqual(len(planner_table.worse_than(kept, now)), 2, "no plan any more")

    def test_planners_stand_beside_one_another_with_their_mean(self):
        text = planner_table.tables([row("sentinel", 1.5), row("joint", 1.2), failed("sentinel", "other b1"),
                                     row("joint", 1.2, "other b1", budget_bytes=2, bound=0)])
        self.assertIn("disk, 20 % of what everything takes (simulated)", text)
        for line in ("net b4 +1.500 +1.200 +1.000", r"other b1 +none +1.200\*", "geometric mean +1.500 +1.200", "mean gap +50.0 % +20.0 %"):
            self.assertRegex(text, line)

    def test_the_distance_to_an_integer_programs_answer_is_a_row(self):
        text = planner_table.tables([row("autotm-sync", 1.1, expected=1.2, proved=1.08, solved=3), row("joint", 0.99)])
        for line in ("autotm-sync +joint +autotm-sync expects +bound", "net b4 +1.100 +0.990 +1.200 +1.000",
                     r"over what autotm-sync expects +-8.3 % +-17.5 % +\+0.0 %", "solver's gap, worst +10.0 %", "solved again +1 of 1"):
            self.assertRegex(text, line)
