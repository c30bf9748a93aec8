"""Tests scaling_curve.py, and how paper_ratios.py scales a profile."""

import unittest

import paper_ratios
import scaling_curve


def profile():
    ops = [("dense", 1.0), ("weight.update", 2.0), ("weight.grad.squared_sum", 4.0), ("weight.grad.part.reduce_scatter", 8.0)]
    return {"ops": [{"op": name, "seconds": seconds, "cold_seconds": 2 * seconds} for name, seconds in ops],
            "choices": [{"processor": 1, "seconds": [1.0, 2.0, 4.0, 8.0], "cold_seconds": [1.0, 2.0, 4.0, 8.0]}]}


class Ratios(unittest.TestCase):
    def test_each_part_of_a_step_has_its_time(self):
        scaled = paper_ratios.scaled(profile(), {"passes": 10.0, "device": 1.0, "host": 6.0})
        self.assertEqual([op["seconds"] for op in scaled["ops"]], [10.0, 1.0, 2.0, 0.0])
        self.assertEqual([op["cold_seconds"] for op in scaled["ops"]], [10.0, 1.0, 2.0, 0.0])
        self.assertEqual(scaled["choices"][0]["seconds"], [10.0, 6.0, 12.0, 0.0])


class Network(unittest.TestCase):
    def test_nodes_of_sixteen_share_switches(self):
        self.assertEqual([scaling_curve.nodes_of(ranks) for ranks in (1, 16, 17, 128)], [1, 1, 2, 8])
        self.assertIsNone(scaling_curve.network_of(1))
        self.assertGreater(scaling_curve.network_of(16), scaling_curve.network_of(32))

    def test_what_a_rank_sends_is_what_the_plan_says(self):
        self.assertEqual(scaling_curve.sent_bytes("sluice: note: 4 ranks, 1.5 MiB a step over a network of 1.00 GB/s (simulated)"),
                         1.5 * 2**20)
        self.assertEqual(scaling_curve.sent_bytes(""), 0)


class Tables(unittest.TestCase):
    def test_efficiency_is_over_the_first_row(self):
        row = {"way": "clipped", "tflops_a_rank": 30, "device_state_bytes": 2e9, "host_state_bytes": 1e9, "sent_bytes": 0,
               "network_share": 0}
        rows = [{**row, "ranks": 1, "seconds": 1, "samples_a_second": 10}, {**row, "ranks": 4, "seconds": 2, "samples_a_second": 20}]
        self.assertRegex(scaling_curve.text_of_curve(rows), r"4 +2\.00 +2\.00x +0\.50")

    def test_errors_are_of_the_ratio(self):
        values = {"alone": [10, 10, 10], "beside": [11, 11, 11], "ranks": [20, 20, 20], "bandwidth": [1e9, 2e9, 3e9], "others_busy": [0, 0, 0]}
        row = {"case": "a case", "ranks": 2, **scaling_curve.summary(values, 12, 18)}
        self.assertAlmostEqual(row["error"], -0.25)
        self.assertEqual(row["bandwidth"], 2e9)
        text = scaling_curve.text_of_validation([row])
        self.assertRegex(text, r"1\.50x +2\.00x \(2\.00-2\.00\) +-25% +1\.10x")
        self.assertNotIn("NOT IDLE", text)
        values["others_busy"] = [0, 1, 1]
        self.assertIn("NOT IDLE", scaling_curve.text_of_validation([row]))

    def test_ranks_without_cores_are_not_timed(self):
        self.assertEqual(scaling_curve.not_timed(1), "")
        self.assertIn("would share", scaling_curve.not_timed(10000))
        self.assertIn("not timed: no core", scaling_curve.text_of_validation([{"ranks": 4, "not_timed": "no core"}]))
