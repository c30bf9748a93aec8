"""sluice.Trainer where something goes wrong: batches that PyTorch refuses, disks that fail, children, SIGKILL."""

import copy
import os
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

import sluice
from modules import module_of


def rows(samples, step=0):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(samples, 12, generator=generator), torch.randint(4, (samples,), generator=generator)


def plain_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def large():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10)]
    return torch.nn.Sequential(*layers), torch.randn(256, 512), torch.randint(10, (256,))


def fork_and_run(run):
    """In a child: what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, run().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@unittest.skipIf(torch is None, "PyTorch is not installed")
class TrainerFaultsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def norms(self):
        nn = torch.nn
        yield "rows", nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
        yield "pooled", module_of(lambda self, x: self.out(self.norm(self.pool(x.view(-1, 3, 2, 2))).flatten(1)),
                                  pool=nn.AdaptiveAvgPool2d(1), norm=nn.BatchNorm2d(3), out=nn.Linear(3, 4))
        yield "groups", module_of(lambda self, x: self.out(self.norm(x.view(-1, 12, 1)).flatten(1)),
                                  norm=nn.GroupNorm(12, 12), out=nn.Linear(12, 4))

    def test_a_batch_that_a_norm_refuses(self):
        """As in PyTorch: that batch alone. The training goes on."""
        for name, model in self.norms():
            with self.subTest(name):
                twin = copy.deepcopy(model)
                optimizer, twins = (torch.optim.SGD(each.parameters(), lr=0.05, momentum=0.9) for each in (model, twin))
                with sluice.Trainer(model, optimizer) as trainer:
                    for step, samples in enumerate((4, 1, 4, 2)):
                        x, y = rows(samples, step)
                        if samples == 1:
                            for refuses in (lambda: trainer.step(x, y), lambda: twin(x)):
                                with self.assertRaisesRegex(Exception, "Expected more than 1 value per channel"):
                                    refuses()
                            for part in twin.modules():
                                if hasattr(part, "num_batches_tracked"):
                                    part.num_batches_tracked -= 1  # PyTorch has counted what it refused
                        else:
                            self.assertAlmostEqual(trainer.step(x, y), plain_step(twin, twins, x, y), delta=1e-4)
                for key, value in twin.state_dict().items():
                    self.assertTrue(torch.allclose(model.state_dict()[key].float(), value.float(), rtol=1e-3, atol=1e-5), key)

    def test_a_batch_of_one_where_nothing_refuses_it(self):
        model = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))
        with sluice.Trainer(model, torch.optim.SGD(model.parameters(), lr=0.05)) as trainer:
            trainer.step(*rows(4))
            trainer.step(*rows(1))

    def test_a_norm_that_is_used_twice(self):
        def forward(self, x):
            return self.out(torch.relu(self.norm(torch.relu(self.norm(x)))))

        model = module_of(forward, norm=torch.nn.BatchNorm1d(12), out=torch.nn.Linear(12, 4), unused=torch.nn.BatchNorm1d(12))
        twin = copy.deepcopy(model)
        optimizer, twins = (torch.optim.SGD(each.parameters(), lr=0.05) for each in (model, twin))
        try:
            with sluice.Trainer(model, optimizer) as trainer:
                for step in range(3):
                    self.assertAlmostEqual(trainer.step(*rows(4, step)), plain_step(twin, twins, *rows(4, step)), delta=1e-4)
        except sluice.SluiceError as refused:
            self.assertIn("norm", str(refused))
            return
        for key, value in twin.state_dict().items():
            self.assertTrue(torch.allclose(model.state_dict()[key].float(), value.float(), rtol=1e-4, atol=1e-5), key)

    def test_a_disk_that_fails(self):
        """The module and the optimizer are PyTorch's again, and a checkpoint can be loaded."""
        model, x, y = large()
        optimizer = torch.optim.Adam(model.parameters())
        trainer = sluice.Trainer(model, optimizer, fast="60%", to=self.folder.name, planner="on-demand")
        trainer.step(x, y)
        saved = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
        for each in os.listdir("/proc/self/fd"):
            if os.path.islink(f"/proc/self/fd/{each}") and os.readlink(f"/proc/self/fd/{each}").startswith(self.folder.name + "/"):
                os.truncate(f"/proc/self/fd/{each}", 0)
        with self.assertRaises(sluice.SluiceError):
            for _ in range(3):
                trainer.step(x, y)
        with self.assertRaises(sluice.SluiceError):
            trainer.close()
        self.assertEqual({tuple(each.shape) for each in model.parameters()}, {tuple(each.shape) for each in saved[0].values()})
        model.load_state_dict(saved[0])
        optimizer.load_state_dict(saved[1])
        with sluice.Trainer(model, optimizer) as again:
            again.step(x, y)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_child_has_neither_the_memory_nor_the_values(self):
        model, x, y = large()
        with sluice.Trainer(model, torch.optim.Adam(model.parameters()), fast="80%", to=self.folder.name) as trainer:
            trainer.step(x, y)

            def look():
                try:
                    return str(model[0].weight.sum())
                except RuntimeError as problem:
                    return str(problem)

            def private():
                with open("/proc/self/smaps_rollup", encoding="ascii") as file:
                    return re.search(r"Private_Dirty: *(\d+)", file.read())[1]

            self.assertIn("forked", fork_and_run(look))
            self.assertLess(int(fork_and_run(private)) << 10, trainer.fast_bytes // 2)
            trainer.step(x, y)

    def test_a_trainer_that_is_killed_leaves_nothing(self):
        program = ("import os, torch, sluice\n"
                   "model = torch.nn.Linear(512, 512)\n"
                   "trainer = sluice.Trainer(model, torch.optim.SGD(model.parameters(), lr=.1), lambda output: output.sum())\n"
                   "trainer.step(torch.ones(2, 512))\n"
                   "os.kill(os.getpid(), 9)\n")
        done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": self.folder.name}, check=False)
        self.assertEqual(done.returncode, -9)
        left = [each for each in os.listdir(self.folder.name) if not re.fullmatch("tmp.{8}", each)]  # PyTorch 2 makes one itself
        self.assertEqual(left, [])
