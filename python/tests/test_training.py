"""sluice.Trainer beside PyTorch: the same losses, values that are current whenever one looks, clear errors."""

import copy
import io
import math
import os
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

import sluice
from modules import module_of


def images(step, samples=4):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(samples, 3, 16, 16, generator=generator), torch.randint(10, (samples,), generator=generator)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1, bias=False), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(16 * 8 * 8, 10))


def sgd(model, **more):
    return torch.optim.SGD(model.parameters(), **{"lr": 0.01, "momentum": 0.9, "weight_decay": 0.3, **more})


def plain_step(model, optimizer, x, y, loss=None):
    optimizer.zero_grad()
    loss = (loss or torch.nn.functional.cross_entropy)(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def deep_network():
    torch.manual_seed(0)
    blocks = [torch.nn.Sequential(torch.nn.Conv2d(16, 16, 3, padding=1), torch.nn.Dropout(0.1), torch.nn.ReLU()) for _ in range(8)]
    return torch.nn.Sequential(torch.nn.Conv2d(3, 16, 1), *blocks, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 10))


class Pair:
    """A module under the trainer, and its twin in PyTorch."""

    def __init__(self, test, make=sgd, model=None, loss=None, **more):
        self.test, self.model, self.loss = test, model or network(), loss
        self.twin = copy.deepcopy(self.model)
        self.optimizer, self.twins = make(self.model), make(self.twin)
        self.trainer = sluice.Trainer(self.model, self.optimizer, loss, **more)
        test.addCleanup(self.trainer.close)

    def step(self, x, y):
        loss = self.trainer.step(x, y)
        self.test.assertAlmostEqual(loss, plain_step(self.twin, self.twins, x, y, self.loss), delta=1e-3 * max(1, abs(loss)))
        return loss

    def assert_same_values(self):
        twins = self.twin.state_dict()
        for name, value in self.model.state_dict().items():
            self.test.assertTrue(torch.allclose(value, twins[name], rtol=1e-4, atol=2e-5), name)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class TrainingTest(unittest.TestCase):
    def test_trains_as_pytorch_does(self):
        for make in (
            sgd,
            lambda model: torch.optim.SGD(model.parameters(), lr=0.05),
            lambda model: torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.8, 0.95), eps=1e-2, weight_decay=0.3),
            lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-2, weight_decay=5.0),
        ):
            pair = Pair(self, make)
            for step in range(4):
                pair.step(*images(step))
            pair.assert_same_values()

    def test_a_batch_of_another_size(self):
        pair = Pair(self)
        for step, samples in enumerate((4, 4, 3, 4, 3)):
            pair.step(*images(step, samples))
        pair.assert_same_values()

    def test_learning_rates_of_a_schedule(self):
        pair = Pair(self)
        schedules = [torch.optim.lr_scheduler.StepLR(each, 1, 0.1) for each in (pair.optimizer, pair.twins)]
        for step in range(3):
            pair.step(*images(step))
            for schedule in schedules:
                schedule.step()
        pair.assert_same_values()

    def test_parameters_are_what_they_are_now_wherever_one_looks(self):
        pair = Pair(self)
        first = pair.model[5].weight.clone()
        pair.step(*images(0))
        looks = (
            lambda model: model[5].weight,
            lambda model: model.state_dict()["5.weight"],
            lambda model: dict(model.named_parameters())["5.weight"],
            lambda model: copy.deepcopy(model)[5].weight,
            lambda model: list(model.parameters())[-2],
        )
        for step, look in enumerate(looks, start=1):
            now = look(pair.model).detach()
            self.assertFalse(torch.equal(now, first))
            self.assertTrue(torch.allclose(now, look(pair.twin), atol=1e-5))
            pair.step(*images(step))

    def test_a_module_can_be_evaluated_and_saved_between_steps(self):
        pair = Pair(self)
        pair.step(*images(0))
        pair.model.eval(), pair.twin.eval()
        with torch.no_grad():
            self.assertTrue(torch.allclose(pair.model(images(9)[0]), pair.twin(images(9)[0]), atol=1e-3))
        pair.model.train(), pair.twin.train()
        saved = io.BytesIO()
        torch.save(pair.model, saved)
        saved.seek(0)
        loaded = torch.load(saved, weights_only=False)
        self.assertTrue(torch.equal(loaded[5].weight, pair.model[5].weight))
        pair.step(*images(1))

    def test_what_is_changed_between_steps_is_trained_on(self):
        pair = Pair(self)
        pair.step(*images(0))
        for model in (pair.model, pair.twin):
            with torch.no_grad():
                model[5].bias += 1
                model[1].weight *= 0.5
        pair.step(*images(1))
        other = network().state_dict()
        for model in (pair.model, pair.twin):
            model.load_state_dict(other)
        pair.step(*images(2))
        pair.assert_same_values()

    def test_changes_that_leave_no_trace_are_trained_on(self):
        pair = Pair(self)
        pair.step(*images(0))
        for model in (pair.model, pair.twin):
            model[5].weight.data.clamp_(-0.01, 0.01)
            model[5].bias.detach().numpy()[:] = 0.5
        pair.step(*images(1))
        held = pair.optimizer.param_groups[0]["params"][0]  # not looked at through the module
        for parameter in (held, pair.twins.param_groups[0]["params"][0]):
            parameter.data = torch.full(parameter.shape, 0.1)
        pair.step(*images(2))
        pair.assert_same_values()

    def test_looks_in_inference_mode(self):
        pair = Pair(self)
        pair.step(*images(0))
        with torch.inference_mode():
            self.assertTrue(torch.allclose(pair.model(images(9)[0]), pair.twin(images(9)[0]), atol=1e-3))
        for model in (pair.model, pair.twin):  # what was fetched there is good for gradients, too
            model.zero_grad(set_to_none=True)
            model(images(9)[0]).sum().backward()
        self.assertTrue(torch.allclose(pair.model[5].bias.grad, pair.twin[5].bias.grad))
        pair.step(*images(1))
        pair.assert_same_values()

    def test_parameters_that_take_no_part(self):
        def forward(self, x):
            return self.used(x), self.unused(x)

        torch.manual_seed(0)
        model = module_of(forward, used=torch.nn.Linear(8, 4), unused=torch.nn.Linear(8, 300))
        before = model.unused.weight.detach().clone()
        optimizer = torch.optim.AdamW(model.parameters())
        with sluice.Trainer(model, optimizer) as trainer:
            trainer.step(torch.randn(3, 8), torch.tensor([0, 1, 2]))
            self.assertEqual(len(optimizer.state_dict()["state"]), 2)
        self.assertTrue(torch.equal(model.unused.weight, before))
        self.assertFalse(torch.isnan(model.used.weight).any())

    def test_recurrent_modules(self):
        class Recurrent(torch.nn.Module):
            def __init__(self, cells):
                super().__init__()
                self.cells, self.out = cells, torch.nn.Linear(16 * (2 if cells.bidirectional else 1), 5)

            def forward(self, x):
                return self.out(self.cells(x)[0][:, -1])

        def adam(model):
            return torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-2)

        torch.manual_seed(0)
        x, y = torch.randn(4, 6, 8), torch.tensor([0, 1, 2, 3])
        for make in (sgd, adam):
            for cells in (
                torch.nn.LSTM(8, 16, bias=False, batch_first=True),
                torch.nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True),
                torch.nn.GRU(8, 16, bidirectional=True, batch_first=True),
                torch.nn.RNN(8, 16, num_layers=2, nonlinearity="relu", batch_first=True),
            ):
                with self.subTest(cells=cells, make=make):
                    pair = Pair(self, make, Recurrent(cells))
                    for _ in range(3):
                        pair.step(x, y)
                    pair.assert_same_values()

    def test_initial_states_that_are_trained(self):
        class Started(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.cells, self.out = torch.nn.LSTM(8, 16), torch.nn.Linear(16, 5)
                self.h, self.c = (torch.nn.Parameter(torch.randn(1, 1, 16)) for _ in range(2))

            def forward(self, x):
                states = [each.expand(1, x.shape[0], 16).contiguous() for each in (self.h, self.c)]
                return self.out(self.cells(x.transpose(0, 1), states)[0][-1])

        torch.manual_seed(0)
        pair = Pair(self, model=Started())
        for step in range(3):
            pair.step(torch.randn(4, 6, 8), torch.tensor([0, 1, 2, 3]))
        pair.assert_same_values()

    def test_initial_states_that_are_trained_and_zero(self):
        def forward(self, x):
            return self.out(self.cells(x.transpose(0, 1), self.first)[0][-1])

        torch.manual_seed(0)
        first = torch.nn.Parameter(torch.zeros(1, 4, 16))
        pair = Pair(self, model=module_of(forward, cells=torch.nn.GRU(8, 16), out=torch.nn.Linear(16, 5), first=first))
        for step in range(3):
            pair.step(torch.randn(4, 6, 8), torch.tensor([0, 1, 2, 3]))
        pair.assert_same_values()
        self.assertTrue(pair.model.first.any())

    def test_parameters_of_one_element(self):
        class Scaled(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden, self.bend, self.out = torch.nn.Linear(8, 8), torch.nn.PReLU(), torch.nn.Linear(8, 4)
                self.scale = torch.nn.Parameter(torch.full((1,), 2.0))
                self.heat = torch.nn.Parameter(torch.tensor(0.5))
                self.shift = torch.nn.Parameter(torch.tensor(0.25))

            def forward(self, x):
                return (self.out(self.bend(self.hidden(x))) * self.scale + self.shift) * self.heat.exp() / (1 + self.heat)

        torch.manual_seed(0)
        for make in (sgd, lambda model: torch.optim.Adam(model.parameters(), lr=1e-2, eps=1e-2)):
            pair = Pair(self, make, Scaled())
            for step in range(3):
                pair.step(torch.randn(3, 8), torch.tensor([0, 1, 2]))
            pair.assert_same_values()
            self.assertNotEqual(pair.model.heat.item(), 0.5)
            self.assertEqual(pair.model.state_dict()["heat"].shape, ())

    def test_stochastic_depth(self):
        class Deep(torch.nn.Module):
            def __init__(self, kept):
                super().__init__()
                self.kept, self.body, self.out = kept, torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)

            def forward(self, x):
                drawn = torch.empty([x.shape[0], 1], dtype=x.dtype).bernoulli_(self.kept)
                if self.kept > 0:
                    drawn.div_(self.kept)
                return self.out(x + self.body(x) * drawn)

        torch.manual_seed(0)
        pair = Pair(self, model=Deep(1.0))
        for step in range(3):
            pair.step(torch.randn(3, 8), torch.tensor([0, 1, 2]))
        pair.assert_same_values()

        model, samples = Deep(0.75), 64
        x, y = torch.randn(1, 8).expand(samples, 8).contiguous(), torch.zeros(samples, dtype=torch.int64)
        with torch.no_grad():
            dropped = torch.nn.functional.cross_entropy(model.out(x), y).item()
            kept = torch.nn.functional.cross_entropy(model.out(x + model.body(x) / 0.75), y).item()
        counts = []
        with sluice.Trainer(model, torch.optim.SGD(model.parameters(), lr=0.0)) as trainer:
            for _ in range(6):  # each sample's branch counts or not, so the mean loss says how many do
                counts.append((trainer.step(x, y) - dropped) / (kept - dropped) * samples)
        for count in counts:
            self.assertAlmostEqual(count, round(count), delta=0.02)
            self.assertTrue(0.5 * samples < count < 0.95 * samples, counts)
        self.assertGreater(len({round(count) for count in counts}), 1)

    def test_parameters_that_nobody_looks_at_take_no_memory(self):
        pair = Pair(self)
        held = list(pair.model.parameters())
        pair.step(*images(0))
        self.assertTrue(all(torch.isnan(each).all() for each in held))
        self.assertEqual(held[0].storage().nbytes(), 4)
        pair.model.state_dict()
        self.assertFalse(any(torch.isnan(each).any() for each in held))

    def test_goes_on_in_pytorch_when_it_is_closed(self):
        for make in (sgd, lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3)):
            pair = Pair(self, make)
            for step in range(2):
                pair.step(*images(step))
            pair.trainer.close()
            for step in range(2, 4):
                ours = plain_step(pair.model, pair.optimizer, *images(step))
                self.assertAlmostEqual(ours, plain_step(pair.twin, pair.twins, *images(step)), delta=1e-3)
            self.assertIs(type(pair.model._parameters), type(pair.twin._parameters))

    def test_goes_on_from_a_checkpoint(self):
        for make in (sgd, lambda model: torch.optim.Adam(model.parameters(), lr=1e-3)):
            pair = Pair(self, make)
            for step in range(2):
                pair.step(*images(step))
            saved = copy.deepcopy({"model": pair.model.state_dict(), "optimizer": pair.optimizer.state_dict()})
            expected = [pair.step(*images(step)) for step in range(2, 4)]
            again = network()
            optimizer = make(again)
            again.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            with sluice.Trainer(again, optimizer) as trainer:
                self.assertEqual([trainer.step(*images(step)) for step in range(2, 4)], expected)

    def test_the_same_bits_in_less_memory(self):
        results = []
        with tempfile.TemporaryDirectory() as folder:
            for more in ({}, {"fast": "60%", "to": folder}, {"fast": "95%"}):
                model = deep_network()
                with sluice.Trainer(model, sgd(model), **more) as trainer:
                    losses = [trainer.step(*images(step, 16)) for step in range(3)]
                    results.append((losses, trainer.fast_bytes, model.state_dict()))
        for losses, fast_bytes, values in results[1:]:
            self.assertEqual(losses, results[0][0])
            self.assertLess(fast_bytes, results[0][1])
            self.assertTrue(all(torch.equal(values[name], results[0][2][name]) for name in values))
        self.assertLessEqual(results[2][1], 0.95 * results[0][1])

    def test_a_weight_that_is_multiplied_by_itself(self):
        def forward(self, x):
            return torch.cat([self.linear(x), self.linear.weight @ self.linear.weight.T], 0)

        def loss(output, labels):
            return torch.nn.functional.cross_entropy(output[:4], labels) + 0.1 * output[4:].square().mean()

        torch.manual_seed(0)
        pair = Pair(self, model=module_of(forward, linear=torch.nn.Linear(12, 6)), loss=loss)
        for step in range(3):
            pair.step(torch.randn(4, 12, generator=torch.Generator().manual_seed(step)), torch.arange(4))
        pair.assert_same_values()

    def test_attention_is_made_again(self):
        def forward(self, x):
            for layer in self.layers:
                y = layer(x)
                x = torch.softmax(y @ y.transpose(1, 2), -1) @ y
            return self.last(x.mean(1))

        layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(8))
        model = module_of(forward, layers=layers, last=torch.nn.Linear(16, 10))
        x, y = torch.randn(16, 128, 16), torch.randint(10, (16,))
        with sluice.Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1)) as trainer:
            trainer.step(x, y)
            probabilities = 4 * 16 * 128 * 128
            self.assertLess(trainer.fast_bytes, 6 * probabilities)  # of the eight that there are

    def test_fits_batches(self):
        model = network()
        batches = [images(step) for step in range(3)]
        seen = []
        with sluice.Trainer(model, sgd(model)) as trainer:
            means = trainer.fit(batches, epochs=2, on_step=lambda number, loss: seen.append(loss))
        self.assertEqual(len(seen), 6)
        self.assertAlmostEqual(means[1], sum(seen[3:]) / 3)
        self.assertLess(means[1], means[0])

    def test_a_language_model_with_labels_that_do_not_count(self):
        class Words(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words = torch.nn.Embedding(50, 16)
                self.out = torch.nn.Linear(16, 50, bias=False)
                self.out.weight = self.words.weight

            def forward(self, ids):
                return self.out(torch.relu(self.words(ids)))

        torch.manual_seed(0)
        model = Words()
        twin = copy.deepcopy(model)
        ids = torch.randint(50, (2, 8))
        labels = torch.where(torch.rand(2, 8) < 0.5, ids, -100)
        labels[0, 0] = 3
        optimizer, twins = sgd(model), sgd(twin)
        with sluice.Trainer(model, optimizer, loss=torch.nn.CrossEntropyLoss()) as trainer:
            for _ in range(3):
                loss = torch.nn.functional.cross_entropy(twin(ids).flatten(0, 1), labels.flatten())
                self.assertAlmostEqual(trainer.step(ids, labels), loss.item(), places=4)
                twins.zero_grad()
                loss.backward()
                twins.step()
            self.assertTrue(torch.allclose(model.out.weight, twin.out.weight, atol=1e-5))

    def test_capturing_leaves_the_module_alone(self):
        model = network().eval()
        before = copy.deepcopy(model.state_dict())
        draws = torch.get_rng_state()
        with sluice.Trainer(model, sgd(model, lr=0.0, weight_decay=0, momentum=0)) as trainer:
            self.assertTrue(math.isfinite(trainer.step(*images(0))))
        self.assertFalse(model.training)
        self.assertTrue(torch.equal(draws, torch.get_rng_state()))
        self.assertTrue(torch.equal(model[0].weight, before["0.weight"]))
        self.assertEqual(int(model[1].num_batches_tracked), 1)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class TrainingErrorsTest(unittest.TestCase):
    def expect(self, kind, text, model, optimizer=None, x=None, y=None, **more):
        with self.assertRaisesRegex(kind, text):
            with sluice.Trainer(model, optimizer or sgd(model), **more) as trainer:
                trainer.step(images(0)[0] if x is None else x, images(0)[1] if y is None else y)

    def test_what_cannot_be_captured_is_named(self):
        def forward(self, x):
            return self.out(torch.linalg.qr(x.flatten(1))[0] @ torch.ones(4, 768))

        model = module_of(forward, out=torch.nn.Linear(3 * 16 * 16, 10))
        self.expect(sluice.SluiceError, "qr(.|\n)*sluice.offload", model)
        self.assertFalse(torch.isnan(model.out.weight).any())

    def test_settings_it_has_no_update_for(self):
        model = network()
        parts = [{"params": model[0].parameters()}, {"params": [*model[1].parameters(), *model[5].parameters()], "momentum": 0.5}]
        self.expect(ValueError, "Adagrad", model, torch.optim.Adagrad(model.parameters()))
        self.expect(ValueError, "amsgrad", model, torch.optim.Adam(model.parameters(), amsgrad=True))
        self.expect(ValueError, "different momentum", model, torch.optim.SGD(parts, lr=0.1, momentum=0.9))
        model.requires_grad_(False)
        self.expect(ValueError, "nothing of the module is trained", model)

    def test_a_budget_that_nothing_made_again_makes_enough(self):
        model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512))
        with self.assertRaisesRegex(sluice.SluiceError, "smallest budget") as raised:
            with sluice.Trainer(model, sgd(model), fast="50%") as trainer:
                trainer.step(torch.randn(4, 512), torch.tensor([1, 2, 3, 4]))
        self.assertIn(raised.exception.kind, ("infeasible", "none-found"))
        self.assertLess(raised.exception.available, raised.exception.requested)

    def test_what_a_graph_does_not_show(self):
        x, y = torch.randn(3, 8), torch.tensor([0, 1, 2])
        self.expect(sluice.SluiceError, "softmax", torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Softmax(1)), x=x, y=y)
        self.expect(ValueError, "max_norm", torch.nn.Sequential(torch.nn.Embedding(8, 4, max_norm=1)))
        padded = torch.nn.Sequential(torch.nn.Embedding(8, 4, padding_idx=0))
        padded[0].weight.data.fill_(1)
        self.expect(ValueError, "row is not zero", padded)

    def test_a_batch_without_one_of_its_tensors(self):
        def forward(self, ids, attention_mask):
            return self.out(self.words(ids) * attention_mask.unsqueeze(-1))

        ids = torch.randint(20, (2, 6))
        model = module_of(forward, words=torch.nn.Embedding(20, 8), out=torch.nn.Linear(8, 20))
        with sluice.Trainer(model, sgd(model)) as trainer:
            trainer.step({"ids": ids, "attention_mask": torch.ones(2, 6)}, ids)
            with self.assertRaisesRegex(ValueError, "captured with"):
                trainer.step({"ids": ids}, ids)
            with self.assertRaisesRegex(ValueError, "a tensor of classes"):
                trainer.step({"ids": ids, "attention_mask": torch.ones(2, 6)})

    def test_what_may_not_change_between_steps(self):
        model = network()
        optimizer = sgd(model)
        with sluice.Trainer(model, optimizer) as trainer:
            trainer.step(*images(0))
            with self.assertRaisesRegex(RuntimeError, "another sluice.Trainer"):
                sluice.Trainer(model, optimizer)
            with self.assertRaisesRegex(RuntimeError, "replaced"):
                model[5].weight = torch.nn.Parameter(torch.zeros(10, 1024))
            with self.assertRaisesRegex(ValueError, "captured with"):
                trainer.step(images(0)[0].permute(0, 2, 3, 1), images(0)[1])
            with self.assertRaisesRegex(ValueError, "integers"):
                trainer.step(images(0)[0], images(0)[1].float())
            optimizer.param_groups[0]["momentum"] = 0.5
            with self.assertRaisesRegex(ValueError, "settings changed"):
                trainer.step(*images(0))

    def test_an_interrupted_capture_leaves_nothing(self):
        def forward(self, x):
            raise KeyboardInterrupt

        model = module_of(forward, out=torch.nn.Linear(8, 4))
        with tempfile.TemporaryDirectory() as folder:
            self.expect(sluice.SluiceError, "KeyboardInterrupt", model, x=torch.randn(2, 8), fast="1MiB", to=folder)
            self.assertEqual(os.listdir(folder), [])
        self.assertFalse(torch.isnan(model.out.weight).any())

    def test_batches_that_do_not_fit(self):
        self.expect(IndexError, "from 0 to 9", network(), y=torch.tensor([1, 2, 3, 10]))
        self.expect(ValueError, "labels", network(), y=torch.tensor([1, 2, 3]))

    def test_modules_of_another_type(self):
        model = network().double()
        self.expect(ValueError, "float64", model)
