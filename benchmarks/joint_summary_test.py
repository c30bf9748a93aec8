"""Tests joint_summary.py."""

import unittest

import joint_summary


def contestant(planner, rounds, predicted=100.0, bound=80.0):
    return {"planner": planner, "round_ms": rounds, "slowdown": rounds[0] / 100, "predicted_slowdown": predicted / 100,
            "ratio_error": predicted / rounds[0] - 1, "predicted_ms": predicted, "lower_bound_ms": bound,
            "scaled_bound_ms": 2 * bound, "step_ms": {"median": rounds[0]}, "fast_budget_bytes": 64 * 2 ** 20,
            "peak_rss_bytes": 100 * 2 ** 20, "same_losses": True, "same_parameters": True}


def comparison(*results):
    return {"model": "net", "batch": 4, "results": list(results)}


class Summary(unittest.TestCase):
    def test_rounds_are_paired(self):
        """Each round is twice as slow as the one before: the ratio is not."""
        row = joint_summary.row_of(comparison(contestant("fast-only", [100, 200, 400]),
                                              contestant("sentinel", [200, 400, 800]),
                                              contestant("joint", [150, 320, 560], predicted=120)))
        self.assertAlmostEqual(row["ratio"], 0.75)
        self.assertAlmostEqual(row["gap"], 0.5)
        self.assertAlmostEqual(row["bound"], 1.6)
        self.assertAlmostEqual(row["error"], -0.2)
        self.assertAlmostEqual(row["beyond_budget_mib"], 36)

    def test_a_comparison_without_one_of_them_is_no_row(self):
        infeasible = {"planner": "sentinel", "infeasible": "too little"}
        self.assertIsNone(joint_summary.row_of(comparison(contestant("fast-only", [1]), contestant("joint", [1]), infeasible)))

    def test_intervals_are_those_of_the_sign_test(self):
        self.assertIsNone(joint_summary.interval_of([1, 2, 3, 4, 5]), "6.25 % by chance")
        self.assertEqual(joint_summary.interval_of([6, 5, 4, 3, 2, 1]), (1, 6))
        self.assertEqual(joint_summary.interval_of(range(1, 21)), (6, 15))

    def test_files_go_to_the_group_they_are_named_after(self):
        self.assertEqual(joint_summary.group_of("a/joint_vgg16_b8.json"), "joint")
        self.assertEqual(joint_summary.group_of("joint40_vgg16_b8.json"), "joint40")
        self.assertEqual(joint_summary.group_of("joint_1GBs_vgg16_b8.json"), "joint_1GBs")
        self.assertIsNone(joint_summary.group_of("vgg16_b8.json"))

    def test_totals(self):
        row = {"sentinel": 4.0, "joint": 2.0, "ratio": 0.5, "predicted": 1.0, "error": -0.3, "gap": 0.1,
               "beyond_budget_mib": 90}
        other = {**row, "joint": 8.0, "ratio": 2.0, "error": 0.1, "gap": None, "beyond_budget_mib": 120}
        totals = joint_summary.totals_of([row, other])
        self.assertAlmostEqual(totals["geometric_mean"]["joint"], 4)
        self.assertAlmostEqual(totals["mean_error"], 0.2)
        self.assertEqual(totals["worst"], {"ratio": 2.0, "error": -0.3, "gap": 0.1, "beyond_budget_mib": 120})
