"""Properties of hooks of saved tensors that PyTorch's own tests name: the same plainly and while tensors leave."""

import contextlib
import io
import os
import tempfile
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

from torch.autograd import grad, graph
from torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

from beside_plain import SIZE, numbers
from test_saved_tensor_properties import (
    PART, PYTORCH_2, Properties, crowd, double, fail, finish, function, holds, identity_hooks, leaf, refused, same, saving, sine,
    twice)


def to_bytes(x):
    stream = io.BytesIO()
    torch.save(x.detach(), stream)
    return stream


def from_bytes(stream):
    stream.seek(0)
    return torch.load(stream)


class HooksOfSavedTensors(Properties):
    @holds()
    def test_hooks_within_a_step_count_alone(self, see):
        for pack, unpack in ((same, same), (double, lambda x: x / 2), (double, same), (lambda x: (x.clone(), 3), lambda x: x[0]),
                             (lambda x: x.detach().numpy().copy(), torch.from_numpy), (to_bytes, from_bytes)):
            for op in (lambda y: y * y, torch.exp, lambda y: y ** 3):
                x = leaf(size=PART)
                y = torch.sin(torch.sin(x))  # these leave
                with saved_tensors_hooks(pack, unpack):
                    z = op(y)
                del y
                twice(see, z, x)

    @holds()
    def test_hooks_around_the_backward_pass_alone(self, see):
        x = leaf()
        loss = (torch.sin(x) ** 3).sum()
        crowd()
        with saved_tensors_hooks(double, same):
            twice(see, loss, x)

    @holds()
    def test_the_innermost_hooks_count_and_those_around_them_come_back(self, see):
        x = leaf()
        with saved_tensors_hooks(double, double):
            y = x * x
            with saved_tensors_hooks(lambda t: 3 * t, lambda t: 3 * t):
                z = x * y
            y = torch.exp(y)
        finish(see, torch.sin(torch.sin(y * z)).sum(), x)

    # Beside a step with hooks of its own, as hooks around would have what a step without any saves.
    @holds(beside=identity_hooks, enters=True)
    def test_hooks_around_a_step_have_what_is_saved_outside_it(self, see, within):
        for pack, unpack in ((same, double), (to_bytes, from_bytes), (torch.clone, same)):
            packed, x = [], leaf()
            with saved_tensors_hooks(lambda t: (packed.append(t.shape), pack(t))[1], unpack):
                y = torch.sin(x)
                with within():
                    z = torch.sin(torch.exp(torch.sin(y)))
                    crowd()
                    see(*grad(torch.sin(z * 2).sum(), x, retain_graph=True))
                loss = (z * z).sum()
            finish(see, loss, x)
            see(*packed)

    @holds()
    def test_how_often_hooks_are_called_and_what_they_see(self, see):
        def look(t):
            see(t, t.requires_grad, t.is_leaf, type(t.grad_fn).__name__)
            return t.detach()

        x, w = leaf(), leaf(2)
        left = torch.sin(torch.sin(w))
        with saved_tensors_hooks(look, look):
            loss = (torch.exp(x * 2) * x + (x[0] * left).max(1)[0].sum()).sum()
        crowd()
        see(*grad(loss, x, retain_graph=True), *grad(loss, (x, w)))

    @holds()
    def test_errors_of_hooks(self, see):
        for pack, unpack in ((fail, same), (same, fail), (same, lambda t: 1), (same, lambda t: None), (lambda t, more: t, same),
                             (same, lambda t, more: t), (lambda t: t.add_(1), same), (lambda t: None, same)):
            for op in (torch.exp, torch.sin):
                x = leaf(size=PART)
                y = torch.sin(torch.sin(x))
                losses = [torch.exp(y)]
                with saved_tensors_hooks(pack, unpack):
                    see(refused(lambda: losses.append(op(y * 1))))
                while losses:
                    finish(see, losses.pop().sum(), x)

    @holds(leaves=False)
    def test_numbers_are_not_packed(self, see):
        x = leaf()
        with saved_tensors_hooks(fail, fail):
            see(refused(lambda: see(*grad((x * 3).sum(), x))))

    # PyTorch lets a saved tensor have hooks of its own unless it has those of a context.
    @holds(beside=identity_hooks)
    def test_hooks_of_one_saved_tensor_within_a_step(self, see):
        x = leaf()
        y = torch.exp(torch.sin(torch.sin(x)))
        see(refused(lambda: y.grad_fn._raw_saved_result.register_hooks(double, same)))
        finish(see, y.sum(), x)

    @holds(enters=True, leaves=False)
    def test_hooks_of_one_saved_tensor_from_before_a_step(self, see, within):
        x = leaf()
        y = torch.exp(torch.sin(x))
        with within():
            y.grad_fn._raw_saved_result.register_hooks(double, same)
            see(y.grad_fn._saved_result)
            finish(see, torch.sin(y).sum(), x)

    # PyTorch refuses to disable hooks wherever some are in force, and a step has some.
    @holds(beside=identity_hooks, enters=True)
    def test_hooks_that_are_disabled_in_and_around_a_step(self, see, within):
        def step():
            with within():
                x = leaf()
                y = torch.sin(torch.sin(x))
                see(refused(lambda: disable_saved_tensors_hooks("disabled here").__enter__()))
                finish(see, y.sum(), x)

        with disable_saved_tensors_hooks("disabled here"):
            see(refused(step))
        see(refused(step))

    # Who leaves hooks that it has not entered leaves those of the step.
    @holds(beside=identity_hooks)
    def test_hooks_that_are_entered_or_left_in_a_backward_pass(self, see):
        hooks = saved_tensors_hooks(double, same)
        for act in (lambda: hooks.__exit__(), lambda: hooks.__enter__(), lambda: (hooks.__enter__(), hooks.__exit__())):
            x = leaf()
            y = sine(lambda ctx, gradient: (act(), gradient * ctx.saved_tensors[0])[1])(torch.sin(x))
            finish(see, torch.sin(torch.exp(y)).sum(), x)
            see(*grad((torch.sin(x) * x).sum(), x))

    @holds()
    def test_tensors_that_are_kept_in_files_or_main_memory(self, see):
        with tempfile.TemporaryDirectory() as folder:
            def pack(t):
                path = os.path.join(folder, str(len(os.listdir(folder))))
                torch.save(t, path)
                return path

            for hooks in (lambda: saved_tensors_hooks(pack, torch.load), save_on_cpu):
                x = leaf()
                y = torch.sin(torch.sin(x))
                with hooks():
                    y = torch.exp(y * x) * y
                twice(see, torch.sin(y), x)

    # PyTorch 1.13 refuses with hooks a leaf that nobody else has.
    @holds(beside=contextlib.nullcontext if PYTORCH_2 else identity_hooks)
    def test_what_a_function_makes_to_save_and_writes_to_when_it_gets_it(self, see):
        def forward(ctx, x):
            return saving(ctx, torch.exp(x), torch.exp(x).detach_().requires_grad_(), x)

        def backward(ctx, gradient):
            made, given = ctx.saved_tensors
            see(made.requires_grad, made.is_leaf, given._version, made._version)
            return gradient * made.detach().add_(1)

        x, other = leaf(), numbers(2, *SIZE)
        y = torch.sin(function(forward, backward)(torch.sin(x)))
        with saved_tensors_hooks(lambda t: other, same):
            y = function(forward, lambda ctx, gradient: ctx.saved_tensors[0].add_(1) * gradient)(y)
        finish(see, y.sum(), x)
        see(other)

    @holds(needs=hasattr(graph, "allow_mutation_on_saved_tensors"))
    def test_changes_that_are_allowed(self, see):
        def halves(y):
            part = y[::2]
            z = torch.exp(part) * part
            y.mul_(2)
            return z

        def again(y):
            z = y * y.sin()
            y.zero_()
            return z * y.cos()

        def base(y):
            z = torch.sin(y)
            y[3:].mul_(2)
            torch.sin(z.detach(), out=y.detach())
            return z

        for steps in (halves, again, base):
            x = leaf()
            y = torch.sin(torch.sin(x))
            crowd()
            with graph.allow_mutation_on_saved_tensors():
                twice(see, steps(torch.sin(y)), x)
                z = steps(torch.sin(y))
            see(refused(z.sum().backward))
