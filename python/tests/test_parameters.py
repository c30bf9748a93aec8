"""Weights on a disk: PyTorch's bits in any budget, from checkpoints in place, and errors that say what is wrong."""

import faulthandler
import json
import os
import pickle
import struct
import tempfile
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from torch import nn

import sluice
from modules import paging_refused

FEW = "2MiB"  # of memory: parts of 64 KiB


class Tied(nn.Module):
    """An embedding whose weight is the head's, by a function; a norm, a convolution, an LSTM."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(2000, 256)
        self.mix = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Dropout(0.1), nn.Linear(1024, 256), nn.LayerNorm(256))
        self.along = nn.Conv1d(256, 256, 3, padding=1)
        self.cells = nn.LSTM(256, 128, batch_first=True)
        self.out = nn.Linear(128, 256, bias=False)
        self.register_buffer("scale", torch.full((256,), 0.5))

    def forward(self, tokens):
        x = self.words(tokens)
        x = x + self.mix(x) * self.scale
        x = x + self.along(x.transpose(1, 2)).transpose(1, 2)
        return nn.functional.linear(self.out(self.cells(x)[0]), self.words.weight)


def made(seed=0, kind=Tied):
    torch.manual_seed(seed)
    return kind()


def train(module, optimizer, steps=4, around=None):
    losses = []
    for step in range(steps):
        torch.manual_seed(step)
        tokens = torch.randint(2000, (4, 16))
        optimizer.zero_grad()
        if around is None:
            loss = nn.functional.cross_entropy(module(tokens).flatten(0, 1), tokens.flatten())
            loss.backward()
        else:
            with around:
                loss = nn.functional.cross_entropy(module(tokens).flatten(0, 1), tokens.flatten())
                loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def adamw(module):
    return torch.optim.AdamW([each for each in module.parameters() if each.requires_grad], lr=1e-2)


def write_safetensors(path, state):
    header, end = {}, 0
    for name, value in state.items():
        size = value.numel() * value.element_size()
        kind = {torch.float32: "F32", torch.float16: "F16"}[value.dtype]
        header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in state.values():
            file.write(value.contiguous().numpy().tobytes())


def of_checkpoint(module):
    """Each value once: safetensors allows no second name."""
    state, seen = {}, set()
    for name, value in module.state_dict().items():
        if value.data_ptr() not in seen:
            state[name] = value
            seen.add(value.data_ptr())
    return state


def on_meta(kind=Tied):
    """As torch.device("meta") of PyTorch 2 makes it, which 1.13 has not."""
    module = kind()
    for holder in module.modules():
        for name, each in list(holder._parameters.items()):
            if each is not None:
                setattr(holder, name, nn.Parameter(each.detach().to("meta"), requires_grad=each.requires_grad))
    return module


REFUSED = paging_refused()


@unittest.skipIf(REFUSED, REFUSED)
class InFolder(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = kept.name

    def assert_same(self, one, other):
        for (name, mine), theirs in zip(one.state_dict().items(), other.state_dict().values()):
            self.assertTrue(torch.equal(mine, theirs), name)


class SameBits(InFolder):
    def test_in_any_budget(self):
        plain = made()
        expected = train(plain, adamw(plain))
        for budget in (FEW, "5MiB", "1GiB"):
            with self.subTest(budget):
                module = made()
                kept = sluice.offload_parameters(module, budget, self.folder)
                self.assertEqual(train(module, adamw(module)), expected)
                self.assert_same(module, plain)
                self.assertLessEqual(kept.report().resident, max(sluice.parse_size(budget), kept.report().resident * (budget == FEW)))

    def test_with_the_optimizer_and_what_is_saved_on_the_disk_too(self):
        plain = made()
        expected = train(plain, adamw(plain))
        module = made()
        sluice.offload_parameters(module, FEW, self.folder)
        optimizer = sluice.offload_optimizer(adamw(module), self.folder, during_backward=True, window="1MiB")
        self.assertEqual(train(module, optimizer, around=sluice.Offload("4MiB", self.folder)), expected)
        self.assert_same(module, plain)

    def test_what_is_written_by_any_name_counts(self):
        module = made()
        sluice.offload_parameters(module, FEW, self.folder)
        weight = module.mix[0].weight
        numbers, view = weight.detach().numpy(), weight.data.view(-1)[5:]
        for _ in range(3):
            numbers[0, 0] += 1
            view[0] += 1
            self.assertEqual(weight[0, 0].item(), numbers[0, 0])
            float(module.words.weight.sum())  # everything else in between
            float(module.along.weight.sum())
        self.assertEqual(weight.view(-1)[5].item(), view[0].item())

    def test_checkpoints_are_pytorchs(self):
        module, other = made(), made(1)
        sluice.offload_parameters(module, FEW, self.folder)
        path = os.path.join(self.folder, "saved.pt")
        torch.save(module.state_dict(), path)
        other.load_state_dict(torch.load(path))
        self.assert_same(other, made())
        module.load_state_dict(made(2).state_dict())
        self.assert_same(module, made(2))


class FromCheckpoints(InFolder):
    def checkpoints(self):
        state = of_checkpoint(made(5))
        paths = [os.path.join(self.folder, name) for name in ("one.safetensors", "one.pt", "index.json")]
        write_safetensors(paths[0], state)
        torch.save({"state_dict": made(5).state_dict()}, paths[1])
        names, parts = list(state), {}
        for number, some in enumerate((names[::2], names[1::2])):
            parts.update({name: f"part{number}.safetensors" for name in some})
            write_safetensors(os.path.join(self.folder, f"part{number}.safetensors"), {name: state[name] for name in some})
        with open(paths[2], "w", encoding="utf-8") as file:
            json.dump({"weight_map": parts}, file)
        return paths

    def test_in_place_into_modules_with_and_without_values(self):
        plain = made(5)
        expected = train(plain, adamw(plain))
        for path in self.checkpoints():
            with open(path, "rb") as file:
                before = file.read()
            for module in (made(6), on_meta()):
                with self.subTest(path, meta=next(module.parameters()).is_meta):
                    sluice.offload_parameters(module, FEW, self.folder, weights=path)
                    self.assert_same(module, made(5))
                    self.assertEqual(train(module, adamw(module)), expected)
                    self.assert_same(module, plain)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before)

    def test_of_a_frozen_base_nothing_is_written_and_no_gradient_exists(self):
        class Adapted(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base = base.requires_grad_(False)
                self.down, self.up = nn.Linear(2000, 4, bias=False), nn.Linear(4, 2000, bias=False)

            def forward(self, tokens):
                x = self.base(tokens)
                return x + self.up(self.down(x))

        base = made(5)
        torch.manual_seed(1)
        plain = Adapted(base)
        expected = train(plain, adamw(plain))
        base = on_meta()
        kept = sluice.offload_parameters(base.requires_grad_(False), FEW, self.folder, weights=self.checkpoints()[0])
        torch.manual_seed(1)
        module = Adapted(base)
        self.assertEqual(train(module, adamw(module)), expected)
        self.assertEqual(kept.report().written, 0)
        self.assertGreater(kept.report().read, 0)
        self.assertTrue(all(each.grad is None for each in base.parameters()))

    def test_what_is_wrong_is_named(self):
        path = self.checkpoints()[0]
        state = of_checkpoint(made(5))
        cases = [({**state, "more": torch.zeros(3)}, "'more'"),
                 ({**state, "out.weight": torch.zeros(256, 127)}, r"\[256, 128\].*\[256, 127\]"),
                 ({**state, "out.weight": torch.zeros(256, 128).half()}, "torch.float16")]
        for changed, words in cases:
            write_safetensors(path, changed)
            with self.assertRaisesRegex(ValueError, words):
                sluice.offload_parameters(made(), FEW, self.folder, weights=path)
        del state["out.weight"]
        write_safetensors(path, state)
        module = made()
        module.register_buffer("extra", torch.empty(3, device="meta"))
        weight = module.out.weight.data_ptr()
        with self.assertRaisesRegex(ValueError, "buffer 'extra'"):
            sluice.offload_parameters(module, FEW, self.folder)
        self.assertEqual(module.out.weight.data_ptr(), weight, "nothing was moved")
        with self.assertRaisesRegex(ValueError, "'out.weight' is on \"meta\""):
            sluice.offload_parameters(on_meta(), FEW, self.folder, weights=path)

    def test_files_that_are_none(self):
        path = self.checkpoints()[0]
        with open(path, "rb") as file:
            whole = file.read()
        for name, bytes_of_it in (("empty", b""), ("noise", os.urandom(4096)), ("cut", whole[: len(whole) // 2]), ("header", whole[:50])):
            with self.subTest(name):
                with open(path, "wb") as file:
                    file.write(bytes_of_it)
                with self.assertRaises((ValueError, sluice.SluiceError)):
                    sluice.offload_parameters(made(), FEW, self.folder, weights=path)

        class Evil:
            def __reduce__(self):
                return os.mkdir, (os.path.join(self.folder, "harm"),)

        Evil.folder = self.folder
        torch.save({"weight": Evil()}, path)
        with self.assertRaisesRegex(ValueError, "which is no tensor"):
            sluice.offload_parameters(made(), FEW, self.folder, weights=path)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "harm")))

    def test_a_file_that_is_changed_meanwhile_stops_the_next_step(self):
        path = self.checkpoints()[0]
        module = made()
        sluice.offload_parameters(module, FEW, self.folder, weights=path)
        optimizer = adamw(module)
        train(module, optimizer, steps=1)
        with open(path, "ab") as file:
            file.write(b"more")
        with self.assertRaisesRegex(sluice.SluiceError, "was changed") as raised:
            train(module, optimizer, steps=1)
        self.assertEqual(raised.exception.kind, "mismatch")


class WhatUsersDoBetweenSteps(InFolder):
    def test_a_weight_that_is_replaced_goes_on_and_goes_to_the_disk(self):
        plain, module = made(), made()
        sluice.offload_parameters(module, FEW, self.folder)
        for each in (plain, module):
            torch.manual_seed(9)
            each.mix[0].weight.data = torch.randn(1024, 256)
            each.out.weight = nn.Parameter(torch.randn(256, 128))
        self.assertEqual(train(module, adamw(module)), train(plain, adamw(plain)))
        self.assert_same(module, plain)

    def test_another_type_in_between(self):
        plain, module = made(), made()
        sluice.offload_parameters(module, FEW, self.folder)
        for each in (plain, module):
            each.double()
        self.assertEqual(train(module, adamw(module), 2), train(plain, adamw(plain), 2))
        for each in (plain, module):
            each.float()
        self.assertEqual(train(module, adamw(module), 2), train(plain, adamw(plain), 2))
        self.assert_same(module, plain)

    def test_a_library_that_takes_the_signal_of_stores_meanwhile(self):
        plain, module = made(), made()
        sluice.offload_parameters(module, FEW, self.folder)
        faulthandler.enable()
        self.addCleanup(faulthandler.disable)
        self.assertEqual(train(module, adamw(module)), train(plain, adamw(plain)))
        self.assert_same(module, plain)

    def test_a_child_does_not_see_zeros(self):
        module = made()
        sluice.offload_parameters(module, FEW, self.folder)
        child = os.fork()
        if child == 0:
            float(module.words.weight.detach().view(-1)[0])
            os._exit(0)
        _, status = os.waitpid(child, 0)
        self.assertTrue(os.WIFSIGNALED(status))

    def test_modules_that_it_cannot_have_are_refused_by_name(self):
        with self.assertRaisesRegex(FileNotFoundError, "no such folder"):
            sluice.offload_parameters(made(), FEW, "/nowhere")
        with self.assertRaises(sluice.SluiceError) as raised:
            sluice.offload_parameters(made(), "1MiB", self.folder)
        self.assertEqual(raised.exception.requested, 2 << 20)
        sparse = nn.Module()
        sparse.weight = nn.Parameter(torch.eye(100).to_sparse())
        with self.assertRaisesRegex(ValueError, "'weight' is a torch.sparse"):
            sluice.offload_parameters(sparse, FEW, self.folder)
        with self.assertRaisesRegex(ValueError, "'weight'"):
            sluice.offload_parameters(nn.LazyLinear(3), FEW, self.folder)


class TrainIn(InFolder):
    def test_keeps_bits_and_says_what_it_moved(self):
        plain = made()
        expected = train(plain, adamw(plain), 6)
        module = made()
        optimizer = adamw(module)
        training = sluice.train_in(module, optimizer, "24MiB", self.folder, quiet=True)
        self.assertEqual(train(module, optimizer, 6, around=training), expected)
        self.assert_same(module, plain)
        report = training.report()
        self.assertGreater(report.read, 0)
        self.assertGreater(report.written, 0)
        self.assertGreater(training.expected_seconds, 0)

    def test_a_checkpoint_into_a_module_on_meta_with_its_optimizer(self):
        path = os.path.join(self.folder, "weights.safetensors")
        write_safetensors(path, of_checkpoint(made(5)))
        plain = made(5)
        expected = train(plain, adamw(plain))
        module = on_meta()
        optimizer = adamw(module)
        training = sluice.train_in(module, optimizer, "24MiB", self.folder, weights=path, quiet=True)
        self.assertEqual(train(module, optimizer, around=training), expected)
        self.assert_same(module, plain)

    def test_the_smallest_budget_that_works_is_named_and_works(self):
        def smallest(fast):
            module = made()
            optimizer = adamw(module)
            try:
                train(module, optimizer, 3, around=sluice.train_in(module, optimizer, fast, self.folder, quiet=True))
            except sluice.SluiceError as error:
                self.assertEqual(error.kind, "infeasible")
                self.assertEqual(error.available, fast)
                return error.requested
            return None

        before = smallest(3 << 20)
        self.assertIsNotNone(before)
        behind = smallest(before) or before
        self.assertIsNone(smallest(behind + (behind >> 3)))


class Reading(unittest.TestCase):
    def test_a_pickle_that_names_anything_else_is_not_run(self):
        from sluice.weight_files import _TensorsOnly
        import io

        with self.assertRaises(pickle.UnpicklingError):
            _TensorsOnly(io.BytesIO(b"cos\nsystem\n(S'true'\ntR."), "", "", {}).load()


if __name__ == "__main__":
    unittest.main()
