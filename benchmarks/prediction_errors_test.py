"""Tests prediction_errors.py."""

import unittest

import prediction_errors


def row(planner, predicted, measured, slowdown):
    return {"planner": planner, "predicted_ms": predicted, "step_ms": {"median": measured}, "slowdown": slowdown}


class Rows(unittest.TestCase):
    def test_drift_is_no_error_of_the_ratio(self):
        """The machine is twice as slow as when it was profiled."""
        rows = prediction_errors.rows_of({"results": [row("fast-only", 100, 200, 1), row("sentinel", 110, 220, 1.1)]})
        self.assertEqual([planner for planner, *_ in rows], ["sentinel"])
        self.assertAlmostEqual(rows[0][1], 0)
        self.assertAlmostEqual(rows[0][2], -0.5)

    def test_a_wrong_ratio_is_found(self):
        rows = prediction_errors.rows_of({"results": [row("fast-only", 100, 100, 1), row("redl", 120, 100, 1)]})
        self.assertAlmostEqual(rows[0][1], 0.2)

    def test_other_files_and_rows_that_did_not_run_do_not_count(self):
        self.assertEqual(prediction_errors.rows_of([1]), [])
        self.assertEqual(prediction_errors.rows_of({"results": [{"gradient": 1}]}), [])
        self.assertEqual(prediction_errors.rows_of({"results": [row("redl", 1, 1, 1)]}), [], "no baseline")
        infeasible = {"planner": "slow-only", "infeasible": "cannot"}
        self.assertEqual(prediction_errors.rows_of({"results": [row("fast-only", 1, 1, 1), infeasible]}), [])

    def test_mean_and_maximum_are_of_sizes(self):
        self.assertEqual(prediction_errors.describe("ratio", [-0.1, 0.02]),
                         "ratio: mean 6.0 %, median 6.0 %, max 10.0 %")
