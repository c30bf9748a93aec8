"""Tests largest_batches.py."""

import unittest

import largest_batches


def row(model, planner, batch):
    return {"model": model, "planner": planner, "batch": batch, "reason": None if batch else "too large"}


class Table(unittest.TestCase):
    def test_means_are_of_the_models_that_every_planner_trains(self):
        rows = [row("a", "fast-only", 100), row("a", "home", 200), row("b", "fast-only", 10), row("b", "home", 80),
                row("c", "fast-only", 7), row("c", "home", 0)]
        lines = largest_batches.table(rows, ["fast-only", "home"], ["a", "b", "c"]).splitlines()
        self.assertIn("200 (2.00x)", lines[1])
        self.assertIn("80 (8.00x)", lines[2])
        self.assertTrue(lines[3].endswith("-"))
        self.assertIn("geometric mean of 2", lines[4])
        self.assertIn("4.00x", lines[4])

    def test_without_such_a_model_there_is_no_mean(self):
        rows = [row("c", "fast-only", 7), row("c", "home", 0)]
        self.assertNotIn("mean", largest_batches.table(rows, ["fast-only", "home"], ["c"]))
