"""Every optimizer of PyTorch's, and others, with its state offloaded: the same bits, whatever its state is and whoever looks."""

import copy
import gc
import io
import os
import pickle
import random
import tempfile
import unittest
import warnings

try:
    import torch
except ImportError:
    torch = None

import sluice

ELEMENTS = 1 << 16  # of a weight: two parts of 32,768 with a small window and one thread


def optimizers():
    import torch.optim as o

    return {
        "SGD": lambda p: o.SGD(p, lr=0.1),
        "SGD momentum": lambda p: o.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.1),
        "SGD nesterov": lambda p: o.SGD(p, lr=0.1, momentum=0.9, nesterov=True, maximize=True),
        "SGD foreach": lambda p: o.SGD(p, lr=0.1, momentum=0.9, foreach=True, weight_decay=0.1),
        "Adam": lambda p: o.Adam(p, lr=1e-3),
        "Adam amsgrad": lambda p: o.Adam(p, lr=1e-3, amsgrad=True, weight_decay=0.1),
        "Adam foreach": lambda p: o.Adam(p, lr=1e-3, foreach=True, weight_decay=0.1),
        "AdamW": lambda p: o.AdamW(p, lr=1e-3, amsgrad=True),
        "Adagrad": lambda p: o.Adagrad(p, lr=0.1, lr_decay=0.01, initial_accumulator_value=0.1),
        "RMSprop": lambda p: o.RMSprop(p, lr=1e-3, momentum=0.5, centered=True, foreach=True, weight_decay=0.1),
        "Rprop": lambda p: o.Rprop(p),
        "Adadelta": lambda p: o.Adadelta(p, weight_decay=0.1),
        "Adamax": lambda p: o.Adamax(p, foreach=True, weight_decay=0.1),
        "NAdam": lambda p: o.NAdam(p),
        "RAdam": lambda p: o.RAdam(p, lr=1e-3),
        "ASGD": lambda p: o.ASGD(p, t0=1),
        "LBFGS": lambda p: o.LBFGS(p, max_iter=3, history_size=2),
        "of others": lambda p: Centered(p),
        "of others, each by itself": lambda p: Counting(p),
    }


if torch is not None:
    class Centered(torch.optim.Optimizer):
        """Looks at all parameters together, and writes to its group."""

        def __init__(self, parameters):
            super().__init__(parameters, {"lr": 0.1, "seen": 0, "largest": None})

        @torch.no_grad()
        def step(self, closure=None):
            with torch.enable_grad():
                loss = closure() if closure is not None else None
            for group in self.param_groups:
                given = [each for each in group["params"] if each.grad is not None]
                group["seen"] += 1
                group["largest"] = max(each.grad.abs().max().item() for each in given)
                for each in given:
                    mean = self.state[each].setdefault("mean", torch.zeros_like(each))
                    mean.mul_(0.9).add_(each.grad / group["largest"])
                    self.state[each]["steps"] = self.state[each].get("steps", 0) + 1
                    each.sub_(group["lr"] / group["seen"] * mean)
            return loss

    class Counting(torch.optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {"lr": 0.1, "seen": 0})

        @torch.no_grad()
        def step(self, closure=None):
            with torch.enable_grad():
                loss = closure() if closure is not None else None
            for group in self.param_groups:
                group["seen"] += 1
                for each in group["params"]:
                    if each.grad is None:
                        continue
                    if each not in self.state:
                        self.state[each] = {"mean": torch.zeros_like(each)}
                    self.state[each]["mean"].mul_(0.9).add_(each.grad)
                    each.sub_(group["lr"] / group["seen"] * self.state[each]["mean"])
            return loss


class Training:
    """Of two weights, one of them of many elements, with gradients that are the seed's alone."""

    def __init__(self, make, dtype=None, wrap=lambda optimizer: optimizer, sparse=False):
        torch.manual_seed(0)
        dtype = dtype or torch.float32
        self.sparse = sparse
        self.parameters = [torch.nn.Parameter(torch.randn(ELEMENTS // 64, 64).to(dtype)), torch.nn.Parameter(torch.randn(7).to(dtype))]
        self.parameters.append(torch.nn.Parameter(torch.randn(150, 149).t().to(dtype)))  # does not lie row by row
        self.optimizer = wrap(make(self.parameters[:1] if sparse else self.parameters))

    def loss(self, step):
        generator = torch.Generator().manual_seed(step)
        if self.sparse:
            rows = torch.randint(self.parameters[0].shape[0], (40,), generator=generator)
            return torch.nn.functional.embedding(rows, self.parameters[0], sparse=True).square().sum()
        return sum((each * torch.randn(each.shape, generator=generator)).abs().sum().float() for each in self.parameters)

    def step(self, number):
        def closure():
            self.optimizer.zero_grad(set_to_none=number % 2 == 0)
            loss = self.loss(number)
            loss.backward()
            return loss

        if isinstance(self.optimizer, torch.optim.LBFGS) or number % 3 == 2:
            return self.optimizer.step(closure)
        closure()
        return self.optimizer.step()


def bits(tensor):
    """Also of what is not a number: that is no number's equal."""
    tensor = (tensor.to_dense() if tensor.is_sparse else tensor).detach()
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).contiguous().view(-1).view(torch.uint8)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class OptimizersTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self.addCleanup(torch.set_num_threads, threads)

    def offloaded(self, **more):
        return lambda optimizer: sluice.offload_optimizer(optimizer, to=self.folder.name, **more)

    def assert_same(self, one, other):
        """Weights and all of the state, bit for bit, and what stands in the groups."""
        self.assert_same_values(one.parameters, other.parameters)
        states = [each.optimizer.state_dict() for each in (one, other)]
        self.assertEqual(*[pickle.dumps([{k: v for k, v in group.items() if k != "largest"} for group in each["param_groups"]])
                           for each in states])
        self.assert_same_values(states[0]["state"], states[1]["state"])

    def assert_same_values(self, one, other):
        if isinstance(one, dict):
            self.assertEqual(one.keys(), other.keys())
            one, other = [one[key] for key in one], [other[key] for key in one]
        if isinstance(one, (list, tuple)):
            self.assertEqual(len(one), len(other))
            for each, its in zip(one, other):
                self.assert_same_values(each, its)
        elif isinstance(one, torch.Tensor):
            self.assertEqual((one.dtype, one.shape, one.is_sparse), (other.dtype, other.shape, other.is_sparse))
            if not one.is_sparse:
                self.assertEqual(one.stride(), other.stride())
            self.assertTrue(torch.equal(bits(one), bits(other)))
        else:
            self.assertEqual(one, other)

    def try_all(self, dtype, names=None, **more):
        for name, make in optimizers().items():
            if names is not None and name not in names or name == "LBFGS" and more.get("during_backward"):
                continue
            plain = Training(make, dtype)
            try:
                for step in range(2):
                    plain.step(step)
            except RuntimeError:
                continue  # not for this type
            plain = Training(make, dtype)
            with self.subTest(name, dtype=dtype, **more):
                ours = Training(make, dtype, self.offloaded(**more))
                for step in range(4):
                    plain.step(step)
                    ours.step(step)
                self.assert_same(plain, ours)

    def test_the_bits_of_every_optimizer(self):
        for window in ("64MiB", "512KiB"):
            self.try_all(torch.float32, window=window)

    def test_the_bits_during_the_backward_pass(self):
        names = [name for name in optimizers() if name != "of others"]
        self.try_all(torch.float32, names, window="512KiB", during_backward=True)

    def test_the_bits_of_every_type(self):
        names = ["SGD nesterov", "Adam amsgrad", "AdamW", "Adagrad", "RMSprop", "Adamax", "LBFGS", "of others"]
        for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.complex128):
            self.try_all(dtype, names, window="512KiB")

    def test_sparse_gradients(self):
        import torch.optim as o

        for name, make in {"SGD": lambda p: o.SGD(p, lr=1.0), "momentum": lambda p: o.SGD(p, lr=0.5, momentum=0.9),
                           "SparseAdam": lambda p: o.SparseAdam(p), "Adagrad": lambda p: o.Adagrad(p)}.items():
            for during_backward in (False, True):
                with self.subTest(name, during_backward=during_backward):
                    plain = Training(make, sparse=True)
                    ours = Training(make, sparse=True, wrap=self.offloaded(window="512KiB", during_backward=during_backward))
                    for step in range(3):
                        plain.step(step)
                        ours.step(step)
                    self.assert_same(plain, ours)

    def test_what_is_done_between_steps(self):
        """Looks, changes, tensors that are kept, states that are saved and loaded, groups that come: in any order."""
        for seed in range(6):
            make = random.Random(seed).choice([optimizers()[name] for name in ("Adam amsgrad", "SGD momentum", "RMSprop", "of others")])
            with self.subTest(seed=seed):
                outcomes = []
                for wrap in (lambda optimizer: optimizer, self.offloaded(window="512KiB")):
                    chance, training, seen = random.Random(seed), Training(make, wrap=wrap), []
                    for step in range(8):
                        training.step(step)
                        for _ in range(chance.randrange(3)):
                            self.do_something(chance, training, seen)
                    outcomes.append((training, seen))
                self.assert_same(outcomes[0][0], outcomes[1][0])
                self.assert_same_values(outcomes[0][1], outcomes[1][1])

    def do_something(self, chance, training, seen):
        optimizer, parameter = training.optimizer, chance.choice(training.parameters)
        state = optimizer.state[parameter]
        name = chance.choice([each for each, value in state.items() if torch.is_tensor(value) and value.numel() > 1] or [None])
        what = chance.randrange(10)
        if what == 0:
            seen.append(repr(state))
        elif what == 1 and name:
            seen.append(state[name])  # kept: it goes on to be the state's
        elif what == 2 and name:
            seen.append(state[name].view(-1)[:5])
        elif what == 3 and name:
            state[name].mul_(0.5)
        elif what == 4 and name:
            state[name] = state[name] * 2
        elif what == 5:
            seen.append(copy.deepcopy(optimizer.state_dict()["state"]))
        elif what == 6:
            kept = io.BytesIO()
            torch.save(optimizer.state_dict(), kept)
            kept.seek(0)
            optimizer.load_state_dict(torch.load(kept))
        elif what == 7:
            del optimizer.state[parameter]
        elif what == 8:
            seen.append([value.float().norm() for each in optimizer.state.values() for value in each.values() if torch.is_tensor(value)])
        else:
            more = torch.nn.Parameter(torch.ones(300, 100))
            training.parameters.append(more)
            optimizer.add_param_group({"params": [more], "lr": 1e-4})

    def test_a_copy_is_an_ordinary_optimizer(self):
        training = Training(optimizers()["Adam"], wrap=self.offloaded(window="512KiB"))
        training.step(0)
        state = training.optimizer.state[training.parameters[0]]
        for each in (copy.deepcopy(training.optimizer).state_dict()["state"][0], pickle.loads(pickle.dumps(state)), {**state},
                     state | {}, copy.copy(state), dict(state.items())):
            self.assertIs(type(each), dict)
            self.assertTrue(torch.equal(each["exp_avg"], state["exp_avg"]))
        self.assertIs(type(training.optimizer.state_dict()["state"][0]), dict)

    def test_many_steps_take_no_more_room(self):
        from sluice.memory import pool

        training = Training(optimizers()["Adam amsgrad"], wrap=self.offloaded(window="512KiB"))
        gc.collect()  # optimizers of other tests
        room = []
        for step in range(40):
            training.step(step)
            training.optimizer.zero_grad(set_to_none=True)
            if step % 10 == 9:
                training.optimizer.load_state_dict(training.optimizer.state_dict())
                training.step(step)
                training.optimizer.zero_grad(set_to_none=True)
                room.append((training.optimizer.offloaded._store._file.bytes, len(os.listdir("/proc/self/fd")), pool().used() >> 21))
        self.assertEqual(room[1:], [room[0]] * 3)

    def test_a_schedule_that_was_made_first(self):
        for during_backward in (False, True):
            training = Training(optimizers()["AdamW"])
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                first = torch.optim.lr_scheduler.StepLR(training.optimizer, 1, 0.5)
                self.offloaded(during_backward=during_backward)(training.optimizer)
                training.step(0)
                first.step()
                second = torch.optim.lr_scheduler.StepLR(training.optimizer, 1, 0.5)
                training.step(1)
                second.step()

    def test_what_cannot_be(self):
        with self.assertRaisesRegex(ValueError, "LBFGS"):
            Training(optimizers()["LBFGS"], wrap=self.offloaded(during_backward=True))
        with self.assertRaisesRegex(ValueError, "already"):
            Training(optimizers()["SGD"], wrap=lambda optimizer: self.offloaded()(self.offloaded()(optimizer)))
        model = torch.nn.Linear(4, 4)
        with self.assertRaisesRegex(ValueError, "offloaded"):
            sluice.Trainer(model, self.offloaded()(torch.optim.SGD(model.parameters(), lr=0.1)))
        together = Training(optimizers()["of others"], wrap=self.offloaded(during_backward=True))
        with self.assertRaisesRegex(RuntimeError, "'largest' of all parameters together"):
            together.step(0)
