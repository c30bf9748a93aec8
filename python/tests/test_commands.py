"""plan, simulate, sweep and the others: what they return, and how they fail."""

import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import sluice
from sluice.settings import option_words

FOLDER = tempfile.TemporaryDirectory(prefix="sluice-test-")
MACHINE = {"threads": 1, "slow": "optane", "cache_dir": os.path.join(FOLDER.name, "cache"), "quiet": True}
SMALL = {"batch": 2, **MACHINE}


def tearDownModule():
    FOLDER.cleanup()


class CommandsTest(unittest.TestCase):
    def test_a_plan_is_made_simulated_verified_and_explained(self):
        file = os.path.join(FOLDER.name, "plan.json")
        plan = sluice.plan("resnet20", fast="60%", planner="sentinel", output=file, **SMALL)
        self.assertEqual((plan["command"], plan["model"], plan["batch"]), ("plan", "resnet20", 2))
        self.assertLessEqual(plan["arena_bytes"][0], 0.6 * plan["fast_only_bytes"])
        simulated = sluice.simulate("resnet20", plan=file, **SMALL)
        self.assertAlmostEqual(simulated["predicted_ms"], plan["predicted_ms"], delta=0.2 * plan["predicted_ms"])
        self.assertGreater(len(sluice.rows(simulated, "locality.series")), 1)
        self.assertTrue(sluice.verify(file, "resnet20", **SMALL)["safe"])
        self.assertFalse(sluice.verify(file, "plain20", **SMALL)["safe"])
        events = sluice.rows(sluice.explain(file, "fc.weight", "resnet20", **SMALL))
        self.assertIn("fc.weight", events[0]["subject"])

    def test_a_sweep_has_a_row_for_each_point(self):
        budgets, planners = ["1%", "60%"], ["sentinel", "on-demand"]
        swept = sluice.sweep("resnet20:2", fast=budgets, planners=planners, **MACHINE)
        rows = sluice.rows(swept)
        self.assertEqual([row["planner"] for row in rows], 2 * planners)
        self.assertIn("smallest budget", rows[0]["infeasible"])
        self.assertGreaterEqual(rows[2]["predicted_slowdown"], 0.99)
        self.assertEqual({row["model"] for row in rows}, {"resnet20"})
        self.assertTrue(all(not isinstance(value, dict) for row in rows for value in row.values()))
        found = sluice.rows(sluice.sweep("resnet20", no_loss="20%", planners="sentinel", **SMALL))
        self.assertEqual([row["planner"] for row in found], ["sentinel"])

    def test_the_largest_batch(self):
        found = sluice.max_batch("resnet20", fast=8 << 20, planner="sentinel", **MACHINE)
        trials = sluice.rows(found)
        self.assertEqual(found["batch"], max(trial["batch"] for trial in trials if trial["fits"]))
        self.assertEqual(found["fast_bytes"], 8 << 20)

    def test_a_report_is_a_page(self):
        page = os.path.join(FOLDER.name, "report.html")
        found = sluice.report(
            "resnet20", page, fast="60%", planner="sentinel", planners="on-demand", curve=["60%", "100%"], **SMALL
        )
        self.assertIn("sentinel", [row["planner"] for row in sluice.rows(found)])
        with open(page, encoding="utf-8") as file:
            self.assertIn("<html", file.read(2000))

    def test_what_tensors_do(self):
        found = sluice.characterize("resnet20", accesses=False, **SMALL)
        self.assertIn("small.bytes", sluice.rows(found)[0])
        self.assertIn("fast_bytes", sluice.rows(found, "page_migration")[0])
        self.assertIn("kind", sluice.rows(sluice.inspect("resnet20", ops=3, **SMALL))[0])

    def test_lists_and_the_machine(self):
        self.assertIn("resnet50", [row["name"] for row in sluice.rows(sluice.models())])
        self.assertIn("joint", [row["name"] for row in sluice.rows(sluice.planners())])
        tiers = sluice.rows(sluice.machine(threads=1, slow="optane", quiet=True))
        self.assertEqual([tier["name"] for tier in tiers], ["dram", "optane"])

    def test_the_document_is_kept_where_asked_for(self):
        file = os.path.join(FOLDER.name, "document.json")
        plan = sluice.plan("resnet20", estimate=True, json=file, **SMALL)
        with open(file, encoding="utf-8") as kept:
            self.assertIn(plan["run"]["date"], kept.read())
        self.assertEqual(len(sluice.rows(plan)), 1)
        self.assertEqual(sluice.rows(plan)[0]["model"], "resnet20")

    def test_a_budget_that_is_too_small_has_numbers(self):
        with self.assertRaises(sluice.SluiceError) as raised:
            sluice.plan("resnet20", fast="300KiB", planner="sentinel", estimate=True, **SMALL)
        error = raised.exception
        self.assertEqual(error.kind, "none-found")
        self.assertLessEqual(error.available, 300 << 10)
        self.assertGreater(error.requested, error.available)
        self.assertIn("the smallest budget it can use", str(error))
        sluice.plan("resnet20", fast=error.requested, planner="sentinel", estimate=True, **SMALL)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.requested), (str(error), error.requested))

    def test_no_sample_fits(self):
        with self.assertRaises(sluice.SluiceError) as raised:
            sluice.max_batch("resnet20", fast="256KiB", planner="sentinel", **MACHINE)
        self.assertEqual(raised.exception.available, 256 << 10)
        self.assertGreater(raised.exception.requested, 256 << 10)

    def test_misspelt_names_are_answered_with_the_nearest(self):
        with self.assertRaisesRegex(sluice.SluiceError, "did you mean 'sentinel'") as raised:
            sluice.simulate("resnet20", planner="sentinal", **SMALL)
        self.assertEqual((raised.exception.kind, raised.exception.requested), ("bad-input", None))
        with self.assertRaisesRegex(sluice.SluiceError, "did you mean 'dtr'"):
            sluice.sweep("resnet20", planners=["joint", "dtrr"], **SMALL)
        with self.assertRaisesRegex(sluice.SluiceError, "did you mean 'resnet20'"):
            sluice.plan("resnet21", quiet=True)
        with self.assertRaisesRegex(TypeError, r"plan\(\).*'bacth'; did you mean 'batch'"):
            sluice.plan("resnet20", bacth=2)
        with self.assertRaisesRegex(sluice.SluiceError, "gone.onnx"):
            sluice.plan("/no/such/gone.onnx", quiet=True)
        with self.assertRaisesRegex(TypeError, "not int"):
            sluice.plan(5)

    def test_a_command_that_is_not_there(self):
        with unittest.mock.patch.dict(os.environ, {"SLUICE_COMMAND": "/no/such/sluice"}):
            with self.assertRaisesRegex(sluice.SluiceError, "SLUICE_COMMAND names /no/such/sluice"):
                sluice.models()

    def test_a_command_that_breaks_says_what_it_said(self):
        broken = os.path.join(FOLDER.name, "broken")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'sluice: out of luck' >&2\necho '  twice' >&2\nexit 3\n")
        os.chmod(broken, 0o755)
        with unittest.mock.patch.dict(os.environ, {"SLUICE_COMMAND": broken}):
            with self.assertRaises(sluice.SluiceError) as raised:
                sluice.models()
        self.assertEqual((str(raised.exception), raised.exception.kind), ("out of luck\n  twice", "internal"))

    def test_settings_are_the_command_s_options(self):
        settings = {"batch": 8, "gpu": True, "slow": ["numa:1", "file"], "delay_updates": False, "lr": None, "weight_decay": 0.1}
        words = ["--batch", "8", "--gpu", "--slow", "numa:1", "--slow", "file", "--weight-decay", "0.1"]
        self.assertEqual(option_words(settings), words)


class WithoutTorchTest(unittest.TestCase):
    def test_plans_need_no_pytorch(self):
        program = (
            "import sys; sys.modules['torch'] = None\n"
            "import sluice\n"
            "print(sluice.plan('resnet32', batch=2, estimate=True, planner='sentinel', fast='80%', quiet=True)['model'])\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.stderr), ("resnet32\n", ""))
