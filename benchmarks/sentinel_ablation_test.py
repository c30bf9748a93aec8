"""Tests sentinel_ablation.py."""

import unittest

import sentinel_ablation


def contestant(planner, exposed, raised=False, same=True):
    parts = {"computation": 60.0, "recomputation": 0.0, "exposed_transfer": exposed, "processor_wait": 0.0, "other": 2.0,
             "overlapped_transfer": 50.0}
    return {"planner": planner, "planner_config": [["interval_length", "7"]], "step_ms": {"median": 62 + exposed},
            "slowdown": 1.5, "predicted_slowdown": 1.4, "predicted_parts_ms": {**parts, "exposed_transfer": 0.0},
            "measured_parts_ms": parts, "bytes_in": 3 << 20, "bytes_out": 2 << 20, "budget_raised": raised,
            "fast_budget_bytes": (2 if raised else 1) << 20,
            "same_losses": same, "same_parameters": True}


def comparison(*results):
    return {"model": "net", "batch": 4, "fast": "40%", "run": {}, "results": list(results)}


class Ablation(unittest.TestCase):
    def test_hidden_transfers_are_no_part_of_the_step(self):
        row = sentinel_ablation.row_of(contestant("sentinel:additions=none:migration=direct", 38.0))
        self.assertEqual(row["way"], "direct")
        self.assertEqual(row["interval_length"], "7")
        self.assertAlmostEqual(row["executed"]["step_ms"], 100)
        self.assertAlmostEqual(row["executed"]["exposed_share"], 0.38)
        self.assertAlmostEqual(row["executed"]["hidden_ms"], 50)
        self.assertAlmostEqual(row["simulated"]["exposed_share"], 0)

    def test_every_contestant_has_a_line(self):
        text = sentinel_ablation.text_of(sentinel_ablation.summary_of(comparison(
            contestant("sentinel", 38.0, same=False), contestant("vdnn", 1.0, raised=True),
            {"planner": "capuchin", "infeasible": "too little"})))
        ours, vdnn, capuchin = text.splitlines()[2:5]
        self.assertIn("+ our additions", ours)
        self.assertIn("38.0%", ours)
        self.assertTrue(ours.endswith("DIFFER"))
        self.assertIn("vdnn *", vdnn)
        self.assertTrue(vdnn.endswith("same"))
        self.assertIn("cannot run: too little", capuchin)
        self.assertIn("the least that it can use", text)


class Gains(unittest.TestCase):
    def test_rivals_are_held_against_the_published_planner(self):
        summary = sentinel_ablation.summary_of(comparison(
            {**contestant(sentinel_ablation.PUBLISHED, 1.0), "slowdown": 1.2},
            {**contestant("vdnn", 1.0, raised=True), "slowdown": 2.4}, {"planner": "capuchin", "infeasible": "too little"}))
        gains = sentinel_ablation.gains([summary])
        self.assertEqual(gains, {"vdnn": {"net": {"ratio": 2.0, "more_memory": True}}})
        self.assertIn("vdnn            2.00   net 2.00 *", sentinel_ablation.text_of_gains(gains))

    def test_a_link_carries_what_everything_takes_so_often(self):
        everything = {"fast_only_bytes": 1000, "predicted_ms": 500.0}
        self.assertAlmostEqual(sentinel_ablation.slowed_link(everything, 0.5), 1000)
