"""sluice.offload against plain PyTorch: the same bits, less memory, clear errors."""

import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

import sluice


def network(seed: int = 0):
    torch.manual_seed(seed)
    layers = []
    for _ in range(6):
        layers += [torch.nn.Conv2d(16, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Dropout(0.1)]
    return torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.LazyLinear(10))


def batch(number: int, size: int = 16):
    generator = torch.Generator().manual_seed(number)
    return torch.randn(size, 16, 32, 32, generator=generator), torch.randint(10, (size,), generator=generator)


def train(budget, steps: int = 4, sizes=(16,)):
    """Losses and parameters after training; `budget` is None for plain PyTorch."""
    model = network()
    model(batch(0)[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    torch.manual_seed(1)
    for step in range(steps):
        x, y = batch(step, sizes[step % len(sizes)])
        optimizer.zero_grad()
        if budget is None:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
        else:
            with budget:
                loss = torch.nn.functional.cross_entropy(model(x), y)
                loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [each.detach().clone() for each in model.parameters()]


@unittest.skipIf(torch is None, "PyTorch is not installed")
class OffloadTest(unittest.TestCase):
    def setUp(self):
        torch.use_deterministic_algorithms(True)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def budget(self, fast):
        return sluice.Offload(fast, self.folder.name, file="1GiB")

    def assert_same_training(self, budget, **more):
        losses, parameters = train(None, **more)
        our_losses, our_parameters = train(budget, **more)
        self.assertEqual(losses, our_losses)
        for theirs, ours in zip(parameters, our_parameters):
            self.assertTrue(torch.equal(theirs, ours))

    def test_the_same_bits_when_most_tensors_leave(self):
        budget = self.budget("48MiB")
        self.assert_same_training(budget)
        self.assertGreater(budget.last.left, 0)
        self.assertTrue(budget.last.as_planned)

    def test_the_same_bits_when_nothing_has_to_leave(self):
        budget = self.budget("1GiB")
        self.assert_same_training(budget)
        self.assertEqual(budget.last.left, 0)

    def test_steps_that_differ(self):
        budget = self.budget("48MiB")
        self.assert_same_training(budget, steps=6, sizes=(16, 16, 9))

    def test_the_budget_bounds_what_is_kept(self):
        budget = self.budget("56MiB")
        train(budget, steps=3)
        largest = 16 * 16 * 32 * 32 * 4
        self.assertLessEqual(budget.last.kept_peak, 0.75 * (56 << 20) - (32 << 20) + 2 * largest)

    def test_a_share_of_the_first_step(self):
        budget = self.budget("60%")
        train(budget, steps=3)
        self.assertTrue(budget.last.as_planned)

    def change_in_place(self, budget):
        x = torch.randn(1 << 20, requires_grad=True)
        with budget:
            y = x * 2
            z = (y * y).sum()
            y.add_(1)
            z.backward()
        return x

    def test_a_change_in_place_of_what_stays_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "changed in place"):
            self.change_in_place(self.budget("1GiB"))

    def test_a_change_in_place_of_what_has_left_does_no_harm(self):
        try:
            x = self.change_in_place(self.budget("40MiB"))
        except RuntimeError as error:  # where it had not left yet
            self.assertIn("changed in place", str(error))
        else:
            self.assertTrue(torch.equal(x.grad, 8 * x.detach()))

    def test_tensors_larger_than_the_arena(self):
        x = torch.randn(1 << 22, requires_grad=True)
        budget = self.budget("36MiB")
        with budget:
            (ours,) = torch.autograd.grad((torch.sin(x * 2) * x).sum(), x)
        (plain,) = torch.autograd.grad((torch.sin(x * 2) * x).sum(), x)
        self.assertTrue(torch.equal(plain, ours))
        self.assertGreater(budget.last.beside_arena, 0)

    def test_a_graph_that_is_kept(self):
        budget = self.budget("40MiB")
        x = torch.randn(1 << 20, requires_grad=True)
        with budget:
            y = x
            for _ in range(12):
                y = torch.sin(y * 1.1)
            loss = y.sum()
            (first,) = torch.autograd.grad(loss, x, retain_graph=True)
            (second,) = torch.autograd.grad(loss, x)
        self.assertTrue(torch.equal(first, second))

    def test_types_that_share_a_storage(self):
        x = torch.randn(1 << 19, 2, requires_grad=True)

        def gradient():
            z = torch.view_as_complex(x * 2)
            (gradient,) = torch.autograd.grad((torch.view_as_real(z * z) * torch.view_as_real(z)).sum(), x)
            return gradient

        plain = gradient()
        with self.budget("36MiB"):
            ours = gradient()
        self.assertTrue(torch.equal(plain, ours))

    def test_a_batch_of_a_data_set_stays_where_it_is(self):
        data = torch.randn(64, 1 << 16)
        weight = torch.randn(8, 1 << 16, requires_grad=True)
        budget = self.budget("36MiB")
        for begin in (0, 8, 16):
            with budget:
                torch.nn.functional.linear(data[begin : begin + 8], weight).sum().backward()
        self.assertEqual(budget.last.saved, 0)

    def test_a_step_like_the_last_but_longer(self):
        budget = self.budget("48MiB")
        x = torch.randn(1 << 20, requires_grad=True)
        for depth in (4, 4, 9, 5, 5, 1, 12):
            def gradient():
                y = x
                for _ in range(depth):
                    y = torch.sin(y * 1.5)
                return torch.autograd.grad(y.sum(), x)[0]

            plain = gradient()
            with budget:
                ours = gradient()
            self.assertTrue(torch.equal(plain, ours), depth)

    def test_a_graph_that_outlives_its_step(self):
        budget = self.budget("40MiB")
        x = torch.randn(1 << 20, requires_grad=True)

        def loss():
            y = x
            for _ in range(8):
                y = torch.sin(y * 1.1)
            return y.sum()

        plain = torch.autograd.grad(loss(), x)[0]
        with budget:
            first = loss()
        with budget:
            second = loss()
            self.assertTrue(torch.equal(torch.autograd.grad(second, x)[0], plain))
        self.assertTrue(torch.equal(torch.autograd.grad(first, x)[0], plain))

    def test_gradients_of_gradients(self):
        x = torch.randn(1 << 19, requires_grad=True)

        def second_order():
            (first,) = torch.autograd.grad(torch.sin(x * x).sum(), x, create_graph=True)
            return torch.autograd.grad((first * first).sum(), x)[0]

        plain = second_order()
        with self.budget("40MiB"):
            ours = second_order()
        self.assertTrue(torch.equal(plain, ours))

    def test_an_exception_in_a_step_leaves_a_budget_to_go_on_with(self):
        budget = self.budget("48MiB")
        with self.assertRaises(ZeroDivisionError):
            with budget:
                network()(batch(0)[0])
                raise ZeroDivisionError
        self.assert_same_training(budget)

    def test_wrong_words_are_named(self):
        for fast in ("many", "-1GiB", "0", "140%", "1 QiB"):
            with self.assertRaises(ValueError, msg=fast):
                self.budget(fast)
        with self.assertRaisesRegex(FileNotFoundError, "/no/such/folder"):
            sluice.offload(fast="1GiB", to="/no/such/folder")


if __name__ == "__main__":
    unittest.main()
