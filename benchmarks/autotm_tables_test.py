"""Tests autotm_tables.py."""

import contextlib
import io
import unittest

import autotm_tables


def kind(name, ops, unmatched, seconds, **more):
    return {"kind": name, "ops": ops, "unmatched_ops": unmatched, "seconds": seconds, "scaled_seconds": 0, "guessed_seconds": 0,
            "placements": 4, "published_placements": 1, **more}


MODEL = {"ratios": ["8:1"], "only_pmm_slowdown": 4.5, "fast_only_bytes": 90 * 2 ** 20,
         "points": [{"planner": "autotm-sync", "predicted_slowdown": 1.25, "bytes_in": 2 ** 20, "bytes_out": 2 ** 21, "stall_ms": 1,
                     "fast_operands": {"inputs": 0.5, "outputs": 0.75}}, {"planner": "joint", "infeasible": "joint needs more"}],
         "kinds": [kind("relu", 3, 1, 0.03, scaled_seconds=0.01), kind("add", 1, 1, 0.07, guessed_seconds=0.07)]}


class Figures(unittest.TestCase):
    def test_what_is_unmatched_is_said_by_ops_and_by_time(self):
        text = autotm_tables.coverage_text(MODEL)
        self.assertIn("unmatched: 2 of 4 ops (50.0%), 80.0% of the time", text)
        self.assertIn("none of its 1 ops add has a kernel", text)
        self.assertNotIn("ops relu has a kernel", text)

    def test_slowdowns_by_ratio_and_why_some_are_missing(self):
        self.assertRegex(autotm_tables.slowdowns_text(MODEL), r"only PMM +0.0% +0 +4.500x +4.500x\n8:1 +11.1% +10 +1.250x +infeasible\n- joint needs")
        self.assertRegex(autotm_tables.operands_text(MODEL), r"autotm-sync +8:1 +50.0% +75.0% +1 +2 +1.00")


class Kernels(unittest.TestCase):
    def numbers(self, predicted):
        kernels = [{"kind": "add", "in_bar": True, "largest_output_bytes": size, "measured_seconds": [1, 4, 10],
                    "predicted_seconds": [1, 4, predicted]} for size in (1, 2 ** 24)]
        return {"kernels": kernels, "kernels_fitted": 3, "fit": {"usable_caches": 0.12, "seconds_per_output": 240e-6},
                "machine": dict.fromkeys(("cpu", "cache_bytes", "dram_bandwidth", "read_bandwidth", "write_bandwidth", "granule",
                                          "latency_seconds"), 1)}

    def test_the_slowest_placement_is_held_against_the_bar(self):
        for predicted, met in ((14, True), (16, False), (6, False)):
            with contextlib.redirect_stdout(io.StringIO()):
                kept = autotm_tables.show_kernels(self.numbers(predicted))
            self.assertEqual([row["met"] for row in kept["kinds"]], [met], predicted)
            self.assertEqual((kept["kinds"][0]["kernels"], kept["kinds_of_large_outputs"][0]["kernels"]), (2, 1))
            self.assertEqual(kept["kinds"][0]["measured_ratio"]["median"], 10)
