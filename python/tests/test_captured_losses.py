"""sluice.Trainer with losses that are captured with the module, and with modules of which not all is trained."""

import copy
import unittest

try:
    import torch
    from torch.nn import functional as F
except ImportError:
    torch = None

import sluice
from modules import module_of


def dense(outputs=4):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, outputs))


def sgd(model):
    return torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.05, momentum=0.9)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class CapturedTest(unittest.TestCase):
    def trains_alike(self, model, loss, batches, make=sgd, **more):
        """The trainer and PyTorch from the same values, on the same batches."""
        twin = copy.deepcopy(model)
        optimizer, twins = make(model), make(twin)
        with sluice.Trainer(model, optimizer, loss, **more) as trainer:
            for inputs, *targets in batches:
                ours = trainer.step(inputs, *targets)
                twins.zero_grad()
                output = twin(**inputs) if isinstance(inputs, dict) else twin(*inputs) if isinstance(inputs, tuple) else twin(inputs)
                theirs = (loss or torch.nn.CrossEntropyLoss())(output, *targets)
                theirs.backward()
                twins.step()
                self.assertAlmostEqual(ours, theirs.item(), delta=1e-4 * max(1, abs(ours)))
            notes = trainer.notes
        for (name, value), expected in zip(model.state_dict().items(), twin.state_dict().values()):
            self.assertTrue(torch.allclose(value, expected, rtol=1e-3, atol=2e-5), f"{name}: {(value - expected).abs().max()}")
        return notes

    def of(self, targets, count=3):
        torch.manual_seed(1)
        return [(torch.randn(6, 8), targets()) for _ in range(count)]


class LossTest(CapturedTest):
    def test_losses_of_numbers(self):
        for loss in (torch.nn.MSELoss(), torch.nn.MSELoss(reduction="sum"), torch.nn.L1Loss(), torch.nn.SmoothL1Loss(beta=0.7),
                     torch.nn.HuberLoss(delta=0.4), torch.nn.BCEWithLogitsLoss(), torch.nn.SoftMarginLoss(),
                     torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2, 3, 4])),
                     lambda output, targets: ((output - targets) ** 2 * torch.tensor([1.0, 0.5, 2, 0])).mean() + output.abs().sum()):
            with self.subTest(loss=loss):
                self.trains_alike(dense(), loss, self.of(lambda: torch.rand(6, 4)))

    def test_losses_of_probabilities(self):
        model = torch.nn.Sequential(dense(), torch.nn.Sigmoid())
        self.trains_alike(model, torch.nn.BCELoss(), self.of(lambda: torch.rand(6, 4)))
        model = torch.nn.Sequential(dense(), torch.nn.LogSoftmax(1))
        self.trains_alike(model, torch.nn.KLDivLoss(reduction="batchmean"), self.of(lambda: torch.rand(6, 4).softmax(1)))
        self.trains_alike(dense(), torch.nn.CrossEntropyLoss(), self.of(lambda: torch.rand(6, 4).softmax(1)))

    def test_losses_of_pairs_and_triplets(self):
        def forward(self, a, b, c):
            return self.net(a), self.net(b), self.net(c)

        signs = torch.tensor([1, -1, 1, 1, -1, -1])
        batch = lambda: (tuple(torch.randn(6, 8) for _ in range(3)), signs)
        for loss in (lambda three, y: F.triplet_margin_loss(*three, margin=2), lambda three, y: F.triplet_margin_loss(*three, swap=True),
                     lambda three, y: F.cosine_embedding_loss(*three[:2], y, margin=0.1),
                     lambda three, y: F.margin_ranking_loss(three[0][:, 0], three[1][:, 0], y, margin=0.3),
                     lambda three, y: F.hinge_embedding_loss(three[0][:, 0], y)):
            self.trains_alike(module_of(forward, net=dense()), loss, [batch() for _ in range(3)])
        self.trains_alike(dense(), torch.nn.PoissonNLLLoss(), self.of(lambda: torch.poisson(2 * torch.ones(6, 4))))

    def test_elements_that_the_data_choose(self):
        def loss(output, targets):
            chosen = output.gather(1, targets["action"].unsqueeze(1)).squeeze(1)
            return F.smooth_l1_loss(chosen, targets["value"])

        batch = lambda: (torch.randn(6, 8), {"action": torch.randint(4, (6,)), "value": torch.randn(6)})
        self.trains_alike(dense(), loss, [batch() for _ in range(3)])

    def test_a_logit_far_off(self):
        """Where its sigmoid is 0 in fp32 it still has a gradient."""
        model = torch.nn.Linear(8, 4)
        with torch.no_grad():
            model.bias.fill_(-120)
        self.trains_alike(model, torch.nn.BCEWithLogitsLoss(), self.of(lambda: torch.ones(6, 4)))
        self.trains_alike(model, lambda x, y: F.nll_loss(F.log_softmax(x * 50, 1), y), self.of(lambda: torch.randint(4, (6,))))

    def test_losses_of_classes(self):
        weights = torch.tensor([1.0, 0.5, 2, 3])
        for loss in (torch.nn.CrossEntropyLoss(weight=weights), torch.nn.CrossEntropyLoss(label_smoothing=0.2),
                     torch.nn.CrossEntropyLoss(reduction="sum"), torch.nn.CrossEntropyLoss(ignore_index=2),
                     torch.nn.CrossEntropyLoss(weight=weights, ignore_index=1),
                     lambda output, targets: 0.5 * F.cross_entropy(output, targets) + output.square().mean(),
                     lambda output, targets: F.nll_loss(F.log_softmax(output, 1), targets, weight=weights)):
            with self.subTest(loss=loss):
                self.trains_alike(dense(), loss, self.of(lambda: torch.tensor([0, 1, 2, 3, 1, 0])))

    def test_a_class_for_each_pixel(self):
        def network():
            torch.manual_seed(0)
            return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 5, 1))

        labels = torch.randint(5, (2, 9, 7), generator=torch.Generator().manual_seed(2))
        labels[0, :3] = 255
        for loss in (torch.nn.CrossEntropyLoss(ignore_index=255),
                     torch.nn.CrossEntropyLoss(ignore_index=255, label_smoothing=0.1),
                     torch.nn.CrossEntropyLoss(ignore_index=255, weight=torch.rand(5))):
            with self.subTest(loss=loss):
                self.trains_alike(network(), loss, [(torch.randn(2, 3, 9, 7), labels) for _ in range(3)])

    def test_a_loss_of_the_output_alone(self):
        self.trains_alike(dense(), lambda output: output.square().mean(), [(torch.randn(6, 8),) for _ in range(3)])

    def test_several_targets(self):
        def loss(output, targets):
            return F.mse_loss(output[:, :3], targets["numbers"]) + F.cross_entropy(output[:, 3:], targets["classes"])

        batch = lambda: (torch.randn(6, 8), {"numbers": torch.randn(6, 3), "classes": torch.randint(5, (6,))})
        self.trains_alike(dense(8), loss, [batch() for _ in range(3)])

    def test_batches_of_other_sizes(self):
        batches = [(torch.randn(size, 8), torch.randn(size, 4)) for size in (6, 3, 6, 1)]
        self.trains_alike(dense(), torch.nn.MSELoss(), batches)

    def test_what_is_no_loss_is_named(self):
        x, y = torch.randn(6, 8), torch.rand(6, 4)
        for loss, text in ((torch.nn.MSELoss(reduction="none"), r"the loss is \[6, 4\], not one number"),
                           (lambda output, targets: 3.0, "the loss is float, not one number"),
                           (torch.nn.CTCLoss(), "cannot be captured")):
            with self.assertRaisesRegex(sluice.SluiceError, text):
                with sluice.Trainer(model := dense(), sgd(model), loss) as trainer:
                    trainer.step(x, y)


    def test_batches_that_are_not_of_tensors(self):
        model = dense()
        with sluice.Trainer(model, sgd(model), torch.nn.MSELoss()) as trainer:
            with self.assertRaisesRegex(TypeError, "given_target_1 is a NoneType"):
                trainer.step(torch.randn(6, 8), (torch.rand(6, 4), None))
        model = dense()
        with sluice.Trainer(model, sgd(model)) as trainer:
            with self.assertRaisesRegex(sluice.SluiceError, "unexpected keyword argument 'mask'"):
                trainer.step({"input": torch.randn(6, 8), "mask": torch.ones(6)}, torch.tensor([0, 1, 2, 3, 1, 0]))

    def test_a_loss_with_parameters_of_its_own(self):
        model, scale = dense(), torch.nn.Parameter(torch.ones(()))
        optimizer = torch.optim.SGD([*model.parameters(), scale], lr=0.1)
        with self.assertRaisesRegex(ValueError, "not the module's, such as a loss's"):
            sluice.Trainer(model, optimizer, lambda output: (output * scale).mean())


class PartlyTrainedTest(CapturedTest):
    def test_what_wants_no_gradient_stays(self):
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3),
                                    torch.nn.GroupNorm(2, 8), torch.nn.Flatten(), torch.nn.Linear(8 * 16, 10))
        batches = [(torch.randn(4, 3, 8, 8), torch.tensor([1, 2, 3, 4])) for _ in range(3)]
        for frozen in (("0.weight", "0.bias"), ("1.weight", "1.bias"), ("1.bias",), ("4.weight", "3.bias"), ("6.weight",)):
            with self.subTest(frozen=frozen):
                for name, parameter in model.named_parameters():
                    parameter.requires_grad_(name not in frozen)
                self.trains_alike(model, None, batches)

    def test_what_the_optimizer_does_not_have_stays(self):
        make = lambda model: torch.optim.AdamW(model[2].parameters(), lr=0.01)
        self.trains_alike(dense(), None, self.of(lambda: torch.tensor([0, 1, 2, 3, 1, 0])), make)

    def test_groups_with_settings_of_their_own(self):
        def groups(model):
            plain = [each for name, each in model.named_parameters() if name.endswith("bias") or name.startswith("1.")]
            return [{"params": [model[0].weight], "lr": 0.002}, {"params": [model[3].weight], "weight_decay": 0.3},
                    {"params": plain, "weight_decay": 0}]

        labels = torch.tensor([1, 2, 3, 4])
        batches = [(torch.randn(4, 3, 8, 8), labels) for _ in range(3)]
        for make in (lambda model: torch.optim.SGD(groups(model), lr=0.05, momentum=0.9, weight_decay=0.1),
                     lambda model: torch.optim.SGD(groups(model), lr=0.05, momentum=0.9, nesterov=True),
                     lambda model: torch.optim.AdamW(groups(model), lr=0.01, eps=1e-3)):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10))
            self.trains_alike(model, None, batches, make)

    def test_rates_of_groups_that_a_schedule_changes(self):
        model, x, y = dense(), torch.randn(6, 8), torch.tensor([0, 1, 2, 3, 1, 0])
        optimizer = torch.optim.SGD([{"params": model[0].parameters(), "lr": 0.1}, {"params": model[2].parameters(), "lr": 0.01}])
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1, epoch / 2))  # from 0 on
        with sluice.Trainer(model, optimizer) as trainer:
            for _ in range(3):
                trainer.step(x, y)
                schedule.step()
            optimizer.param_groups[1]["lr"] = 0.05
            with self.assertRaisesRegex(ValueError, "proportions"):
                trainer.step(x, y)

    def test_buffers_stay(self):
        class Placed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.out = torch.nn.Embedding(20, 8), torch.nn.Linear(8, 20)
                self.register_buffer("places", torch.randn(1, 6, 8))

            def forward(self, ids):
                return self.out(self.words(ids) + self.places)

        torch.manual_seed(0)
        ids = torch.randint(20, (2, 6))
        self.trains_alike(Placed(), lambda output, targets: F.cross_entropy(output.flatten(0, 1), targets.flatten()),
                          [(ids, ids.roll(1, 1)) for _ in range(3)])

    def test_parts_in_evaluation_mode(self):
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Dropout(0.5), torch.nn.Conv2d(8, 8, 3),
                                    torch.nn.BatchNorm2d(8), torch.nn.Flatten(), torch.nn.Linear(8 * 16, 10))
        model[1].running_mean.normal_()
        model[1].eval()
        model[2].eval()
        batches = [(torch.randn(4, 3, 8, 8), torch.tensor([1, 2, 3, 4])) for _ in range(3)]
        self.trains_alike(model, None, batches)
        self.assertEqual((model[1].num_batches_tracked.item(), model[4].num_batches_tracked.item()), (0, 3))

    def test_tied_and_frozen_weights(self):
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.mix, self.out = torch.nn.Embedding(20, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 20, bias=False)
                self.out.weight = self.words.weight

            def forward(self, ids):
                return self.out(torch.tanh(self.mix(self.words(ids)))).transpose(1, 2)

        torch.manual_seed(0)
        model = Tied()
        ids = torch.randint(20, (2, 6))
        loss = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
        self.trains_alike(model, loss, [(ids, ids.roll(1, 1)) for _ in range(3)])
        model.words.weight.requires_grad_(False)
        self.trains_alike(model, loss, [(ids, ids.roll(1, 1)) for _ in range(3)])


class InputsTest(CapturedTest):
    def test_several_inputs(self):
        def forward(self, image, row, kind):
            return self.image(image).mean((2, 3)) * torch.sigmoid(self.row(row)) + self.kind(kind)

        torch.manual_seed(0)
        model = module_of(forward, image=torch.nn.Conv2d(3, 4, 3), row=torch.nn.Linear(5, 4), kind=torch.nn.Embedding(7, 4))
        batch = lambda: ((torch.randn(6, 3, 8, 8), torch.randn(6, 5), torch.randint(7, (6,))), torch.tensor([0, 1, 2, 3, 1, 0]))
        self.trains_alike(model, None, [batch() for _ in range(3)])

    def test_masks_that_differ_from_batch_to_batch(self):
        class Attending(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words = torch.nn.Embedding(20, 16)
                self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True)
                self.out = torch.nn.Linear(16, 3)

            def forward(self, ids, padding):
                x = self.layer(self.words(ids), src_key_padding_mask=padding)
                return self.out(x.masked_fill(padding.unsqueeze(-1), 0).sum(1) / (~padding).sum(1, keepdim=True))

        def batch(lengths):
            padding = torch.arange(6) >= torch.tensor(lengths).unsqueeze(1)
            return {"ids": torch.randint(20, (3, 6)), "padding": padding}, torch.tensor([0, 1, 2])

        torch.manual_seed(0)
        self.trains_alike(Attending(), None, [batch(lengths) for lengths in ((6, 6, 6), (3, 6, 1), (2, 4, 5))])

    def test_columns_of_ids(self):
        def forward(self, x, ids):
            return x + self.tables[0](ids[:, 0]) * self.tables[1](ids[:, 1] + 1)

        model = module_of(forward, tables=torch.nn.ModuleList(torch.nn.Embedding(rows, 4) for rows in (7, 9)))
        batch = lambda: ((torch.randn(6, 4), torch.randint(7, (6, 2))), torch.tensor([0, 1, 2, 3, 1, 0]))
        self.trains_alike(model, None, [batch() for _ in range(3)])

    def test_padding(self):
        def forward(self, ids):
            return self.out(self.words(ids).mean(1))

        torch.manual_seed(0)
        ids = torch.randint(20, (6, 9))
        ids[:, 4:6] = 3
        model = module_of(forward, words=torch.nn.Embedding(20, 8, padding_idx=3), out=torch.nn.Linear(8, 4))
        self.trains_alike(model, None, [(ids, torch.tensor([0, 1, 2, 3, 1, 0])) for _ in range(3)])
        self.assertFalse(model.words.weight[3].any())

    def test_numbers_that_are_out_of_range(self):
        model = torch.nn.Sequential(torch.nn.Embedding(7, 4))
        with sluice.Trainer(model, sgd(model), lambda output: output.mean()) as trainer:
            trainer.step(torch.tensor([1, 2, 6]))
            with self.assertRaisesRegex(IndexError, "from 0 to 6"):
                trainer.step(torch.tensor([1, 2, 7]))
