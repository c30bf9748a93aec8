"""sluice.offload_optimizer against PyTorch's optimizers: the same bits, state that is elsewhere, clear errors."""

import copy
import gc
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

import sluice

STATE = 2 * 4 * (512 * 512 + 512 * 2048 + 2048 * 512)  # bytes that Adam keeps of the network's weights


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512))


def train(make, wrap=lambda optimizer: optimizer, steps=5, each_step=lambda step, optimizer: None):
    model = network()
    optimizer = wrap(make(model.parameters()))
    losses = []
    for step in range(steps):
        x = torch.randn(8, 512, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        each_step(step, optimizer)
        losses.append(loss.item())
    return losses, [each.detach().clone() for each in model.parameters()], optimizer


@unittest.skipIf(torch is None, "PyTorch is not installed")
class OptimizingTest(unittest.TestCase):
    def setUp(self):
        torch.use_deterministic_algorithms(True)
        gc.collect()  # what other tests have left
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def offloaded(self, **more):
        return lambda optimizer: sluice.offload_optimizer(optimizer, to=self.folder.name, **more)

    def assert_same(self, one, other):
        self.assertEqual(one[0], other[0])
        for theirs, ours in zip(one[1], other[1]):
            self.assertTrue(torch.equal(theirs, ours))

    def optimizers(self):
        return {
            "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-4),
            "Adam": lambda p: torch.optim.Adam(p, lr=1e-3, amsgrad=True),
            "AdamW": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.01),
        }

    def test_the_same_bits(self):
        for name, make in self.optimizers().items():
            plain = train(make)
            for during_backward in (False, True):
                for window in ("64MiB", "1MiB"):
                    with self.subTest(name, during_backward=during_backward, window=window):
                        self.assert_same(plain, train(make, self.offloaded(during_backward=during_backward, window=window)))

    def test_the_state_is_elsewhere_between_steps(self):
        from sluice.memory import pool

        before = pool().used()

        def state_here(step, optimizer):
            optimizer.zero_grad(set_to_none=True)
            self.assertLess(pool().used() - before, STATE / 2 + STATE / 4)  # half of it: the weights
            if step == 2:  # a look brings it, for as long as one looks
                self.assertGreater(sum(each["exp_avg"].norm() for each in optimizer.state.values()), 0)
                self.assertGreater(pool().used() - before, STATE / 2 + STATE / 4)

        train(self.optimizers()["Adam"], self.offloaded(window="1MiB"), each_step=state_here)

    def test_gradients_are_dropped_in_the_backward_pass(self):
        model = network()
        optimizer = sluice.offload_optimizer(
            torch.optim.AdamW(model.parameters()), to=self.folder.name, during_backward=True)
        before = [each.detach().clone() for each in model.parameters()]
        model(torch.randn(8, 512)).square().mean().backward()
        for parameter, old in zip(model.parameters(), before):
            self.assertIsNone(parameter.grad)
            self.assertFalse(torch.equal(parameter, old))
        optimizer.step()

    def test_a_checkpoint_goes_on_to_the_same_bits(self):
        make = self.optimizers()["AdamW"]

        def back_to_an_earlier_state():
            saved = []

            def each_step(step, optimizer):
                if step == 1:
                    saved.append(copy.deepcopy(optimizer.state_dict()))
                if step == 3:
                    optimizer.load_state_dict(saved[0])

            return each_step

        plain = train(make, each_step=back_to_an_earlier_state())
        for window in ("64MiB", "1MiB"):  # with 1 MiB parameters are updated in parts
            with self.subTest(window):
                self.assert_same(plain, train(make, self.offloaded(window=window), each_step=back_to_an_earlier_state()))

    def test_a_large_parameter_is_never_there_with_its_whole_state(self):
        layer = torch.nn.Linear(2048, 2048, bias=False)  # 16 MiB; Adam keeps 32 of it, and makes 32 more on the way
        optimizer = sluice.offload_optimizer(
            torch.optim.AdamW(layer.parameters()), to=self.folder.name, during_backward=True, window="4MiB")
        budget = sluice.Offload("64MiB", self.folder.name)
        for _ in range(3):
            with budget:
                layer(torch.randn(8, 2048)).square().mean().backward()
            optimizer.step()
        self.assertLess(budget.last.peak, 32 << 20)

    def test_a_schedule_of_learning_rates(self):
        def scheduled(wrap):
            schedules = []

            def make(parameters):
                optimizer = wrap(torch.optim.AdamW(parameters, lr=1e-2))
                schedules.append(torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5))
                return optimizer

            return train(make, each_step=lambda step, optimizer: schedules[0].step())

        self.assert_same(scheduled(lambda optimizer: optimizer), scheduled(self.offloaded()))

    def test_together_with_offload(self):
        make = self.optimizers()["AdamW"]

        def run(ours):
            model = network()
            optimizer = make(model.parameters())
            if ours:
                optimizer = sluice.offload_optimizer(optimizer, to=self.folder.name, during_backward=True)
            budget = sluice.Offload("24MiB", self.folder.name, file="1GiB")
            losses = []
            for step in range(4):
                x = torch.randn(2048, 512, generator=torch.Generator().manual_seed(step))
                with budget if ours else torch.enable_grad():
                    loss = model(x).square().mean()
                    loss.backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                losses.append(loss.item())
            return losses, list(model.parameters())

        self.assert_same(run(False), run(True))

    def test_a_folder_that_is_not_there(self):
        with self.assertRaisesRegex(FileNotFoundError, "/no/such/folder"):
            sluice.offload_optimizer(torch.optim.SGD(network().parameters(), lr=0.1), to="/no/such/folder")
