"""Modules as models: captured, and left as they were."""

import os
import tempfile
import unittest
import warnings

try:
    import torch
except ImportError:
    torch = None

import sluice
from modules import module_of
from sluice.exporting import export

SMALL = {"threads": 1, "slow": "optane", "quiet": True, "estimate": True}


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.1),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 16 * 16, 10),
    )


@unittest.skipIf(torch is None, "PyTorch is not installed")
class ExportingTest(unittest.TestCase):
    def test_a_module_is_planned(self):
        plan = sluice.plan(network(), inputs=torch.randn(4, 3, 16, 16), fast="90%", **SMALL)
        self.assertEqual((plan["model"], plan["batch"]), ("Sequential", 4))
        larger = sluice.plan(network(), inputs=(torch.randn(4, 3, 16, 16),), batch=8, **SMALL)
        self.assertEqual(larger["batch"], 8)
        self.assertEqual(sluice.inspect(network(), inputs=torch.randn(2, 3, 16, 16), threads=1)["parameters"], 20730)

    def test_modules_and_files_are_swept(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "net.onnx")
            export(network(), torch.randn(4, 3, 16, 16), file)
            swept = sluice.sweep(
                [network(), file + ":4"], inputs=torch.randn(2, 3, 16, 16), fast="90%", planners="on-demand",
                threads=1, slow="optane", cache_dir=folder, quiet=True,
            )  # fmt: skip
        self.assertEqual([(row["model"], row["batch"]) for row in sluice.rows(swept)], [("Sequential", 2), ("net", 4)])

    def test_no_warning_is_about_what_sluice_does(self):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            export(network(), torch.randn(4, 3, 16, 16), os.path.join(folder, "net.onnx"), lambda output: output.square().mean())
        self.assertEqual([str(each.message) for each in seen], [])

    def test_only_the_users_own_lines_are_warned_of(self):
        lines = "def forward(module, x):\n    return module.linear(x) if x.sum() > 0 else module.linear(-x)\n"
        for name, warned in ("torchvision.models.example", False), ("torchmodels", True):
            names = {"__name__": name}
            exec(compile(lines, f"{name}.py", "exec"), names)
            module = type("Example", (torch.nn.Module,), {"forward": names["forward"]})()
            module.linear = torch.nn.Linear(3, 2)
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                export(module, torch.ones(4, 3), os.path.join(folder, "net.onnx"))
            self.assertEqual(any("Python boolean" in str(each.message) for each in seen), warned, name)

    def test_the_module_stays_as_it_was(self):
        module = network()
        module.eval()
        module[3].train()
        x = torch.randn(4, 3, 16, 16)
        values = {name: value.clone() for name, value in module.state_dict().items()}
        buffers = {name: value for name, value in module.named_buffers()}
        modes = [each.training for each in module.modules()]
        random = torch.get_rng_state()
        with tempfile.TemporaryDirectory() as folder:
            export(module, x, os.path.join(folder, "net.onnx"))
        self.assertTrue(torch.equal(torch.get_rng_state(), random))
        self.assertEqual([each.training for each in module.modules()], modes)
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(value, values[name]), name)
        for name, value in module.named_buffers():
            self.assertIs(value, buffers[name], name)
        self.assertTrue(all(each.grad is None for each in module.parameters()))

    def test_inputs_by_name(self):
        def forward(self, features, more):
            return self.first(features) + self.second(more)

        inputs = {"more": torch.randn(3, 6), "features": torch.randn(3, 6)}
        weighted = module_of(forward, first=torch.nn.Linear(6, 5), second=torch.nn.Linear(6, 5))
        self.assertEqual(sluice.plan(weighted, inputs=inputs, **SMALL)["batch"], 3)

    def test_an_argument_may_be_called_as_a_parameter(self):
        def forward(self, weight):
            return self.out(weight @ self.weight)

        named = module_of(forward, weight=torch.nn.Parameter(torch.eye(8)), out=torch.nn.Linear(8, 10))
        found = sluice.inspect(named, inputs=torch.randn(3, 8), threads=1)
        self.assertEqual(found["parameters"], 8 * 8 + 90)
        # One tensor is most of so small a step, so nothing can leave: everything is the least.
        self.assertEqual(found["smallest_fast_bytes"], found["fast_only_bytes"])

    def test_what_cannot_be_captured_is_named(self):
        class Decomposed(torch.nn.Module):
            def forward(self, x):
                return torch.linalg.svd(x.flatten(1))[1]

        def forward(self, x):
            return self.last(x.flatten(1)).nonzero().float()

        found = module_of(forward, last=torch.nn.Linear(12, 10))
        for module, what in ((Decomposed(), "linalg_svd"), (found, "NonZero")):
            with self.assertRaises(sluice.SluiceError) as raised:
                sluice.plan(module, inputs=torch.randn(4, 3, 2, 2), **SMALL)
            self.assertIn(what, str(raised.exception))
            self.assertIn("sluice.offload", str(raised.exception))
            self.assertTrue(str(raised.exception).startswith(type(module).__name__), str(raised.exception))
        with self.assertRaisesRegex(TypeError, "needs inputs="):
            sluice.plan(network())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lazy = torch.nn.LazyLinear(3)
        with self.assertRaisesRegex(sluice.SluiceError, "weight has no shape yet"):
            sluice.plan(lazy, inputs=torch.randn(4, 3))
        lazy(torch.randn(4, 3))  # has shapes now: sluice.offload looks at all parameters there are
