"""Properties of hooks, backward passes and checkpoints that PyTorch's own tests name: the same plainly and while tensors leave."""

import contextlib
import io
import os
import tempfile
import threading
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import torch.utils.checkpoint as checkpoints
from torch.autograd import grad
from torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

from beside_plain import SIZE, numbers
from test_saved_tensor_properties import Properties, crowd, double, fail, function, holds, identity_hooks, leaf, refused, same, saving

graph = torch.autograd.graph


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
        for pack, unpack in ((same, same), (double, lambda x: x / 2), (double, same), (lambda x: (x.clone(), 3), lambda kept: kept[0]),
                             (lambda x: x.detach().numpy().copy(), torch.from_numpy), (to_bytes, from_bytes), (torch.clone, double)):
            for op in (lambda y: y * y, torch.exp, lambda y: y ** 3):
                x = leaf()
                y = torch.sin(torch.sin(x))  # these leave
                with saved_tensors_hooks(pack, unpack):
                    z = op(y)
                del y
                crowd()
                first = grad(z.sum(), x, create_graph=True)[0]
                see(first, *grad(first.sum(), x))

    @holds()
    def test_hooks_around_the_backward_pass_alone(self, see):
        x = leaf()
        loss = (torch.sin(x) ** 3).sum()
        crowd()
        with saved_tensors_hooks(double, same):
            first = grad(loss, x, create_graph=True)[0]
            see(first, *grad(first.sum(), x))

    @holds()
    def test_the_innermost_hooks_count_and_those_around_them_come_back(self, see):
        x = leaf()
        with saved_tensors_hooks(double, double):
            y = x * x
            with saved_tensors_hooks(lambda t: 3 * t, lambda t: 3 * t):
                z = x * y
            y = torch.exp(y)
        loss = torch.sin(torch.sin(y * z)).sum()
        del y, z
        crowd()
        loss.backward()
        see(x.grad)

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
                    early = grad(torch.sin(z * 2).sum(), x, retain_graph=True)[0]
                loss = (z * z).sum()
            loss.backward()
            see(len(packed), *packed, early, x.grad)

    @holds()
    def test_how_often_hooks_are_called_and_what_they_see(self, see):
        def look(t):
            see(t, t.requires_grad, t.is_leaf, type(t.grad_fn).__name__)
            return t.detach()

        x, left = leaf(), torch.sin(torch.sin(leaf(2)))
        with saved_tensors_hooks(look, look):
            loss = (torch.exp(x * 2) * x + (x[0] * left).max(1)[0].sum()).sum()
        crowd()
        see(*grad(loss, x, retain_graph=True), *grad(loss, x))

    @holds()
    def test_errors_of_hooks(self, see):
        for pack, unpack in ((fail, same), (same, fail), (same, lambda t: 1), (same, lambda t: None), (lambda t, more: t, same),
                             (same, lambda t, more: t), (lambda t: t.add_(1), same), (lambda t: None, lambda t: t)):
            for op in (torch.exp, torch.sin):
                x, losses = leaf(), []
                y = torch.sin(torch.sin(x))
                with saved_tensors_hooks(pack, unpack):
                    see(refused(lambda: losses.append(op(y * 1))))
                losses.append(torch.exp(y))
                crowd()
                see(*[refused(loss.sum().backward) for loss in losses], x.grad)

    @holds(leaves=False)
    def test_numbers_are_not_packed(self, see):
        x = leaf()
        with saved_tensors_hooks(fail, fail):
            see(*grad((x * 3 / 2).sum(), x))

    # PyTorch lets a saved tensor have hooks of its own unless it has those of a context.
    @holds(beside=identity_hooks)
    def test_hooks_of_one_saved_tensor_within_a_step(self, see):
        x = leaf()
        y = torch.exp(torch.sin(x))
        crowd()
        see(refused(lambda: y.grad_fn._raw_saved_result.register_hooks(double, same)), *grad(y.sum(), x))

    @holds(enters=True, leaves=False)
    def test_hooks_of_one_saved_tensor_from_before_a_step(self, see, within):
        x = leaf()
        y = torch.exp(torch.sin(x))
        with within():
            y.grad_fn._raw_saved_result.register_hooks(double, same)
            crowd()
            see(y.grad_fn._saved_result, *grad(torch.sin(y).sum(), x))

    # PyTorch refuses that wherever hooks are in force.
    @holds(beside=identity_hooks)
    def test_hooks_that_are_disabled_within_a_step(self, see):
        x = leaf()
        y = torch.sin(torch.sin(x))
        crowd()

        def disabled():
            with disable_saved_tensors_hooks("disabled here"):
                pass

        see(refused(disabled), *grad(y.sum(), x))

    @holds(beside=identity_hooks, enters=True)
    def test_hooks_that_are_disabled_around_a_step(self, see, within):
        def step():
            with within():
                x = leaf()
                y = torch.sin(torch.sin(x))
                crowd()
                see(*grad(y.sum(), x))

        with disable_saved_tensors_hooks("disabled here"):
            see(refused(step))
        see(refused(step))

    @holds()
    def test_hooks_that_are_entered_or_left_in_a_backward_pass(self, see):
        hooks = saved_tensors_hooks(double, same)
        for act in (lambda: hooks.__exit__(), lambda: hooks.__enter__(), lambda: (hooks.__enter__(), hooks.__exit__())):
            x = leaf()
            with hooks if act else None:
                y = function(lambda ctx, x: saving(ctx, torch.sin(x), torch.cos(x)),
                             lambda ctx, gradient: (act(), gradient * ctx.saved_tensors[0])[1])(torch.sin(x))
            y = torch.sin(torch.exp(y))
            crowd()
            see(refused(y.sum().backward), x.grad)
            z = (torch.sin(x) * x).sum()
            see(*grad(z, x))

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
                loss = torch.sin(y).sum()
                del y
                crowd()
                first = grad(loss, x, create_graph=True)[0]
                see(first, *grad(first.sum(), x))

    @holds()
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
        crowd()
        see(*grad(y.sum(), x), other)

    @holds(needs=hasattr(graph, "allow_mutation_on_saved_tensors"))
    def test_changes_that_are_allowed(self, see):
        def halves(x):
            y = torch.sin(x)
            part = y[::2]
            z = torch.exp(part) * part
            y.mul_(2)
            return z

        def twice(x):
            y = torch.sin(x)
            z = y * y.sin()
            torch._foreach_mul_([y], 2)
            y.zero_()
            return z * y.cos()

        def base(x):
            y = torch.sin(x)
            z = torch.sin(y)
            y[3:].mul_(2)
            torch.sin(x.detach(), out=y.detach())
            return z

        for steps in (halves, twice, base):
            x = leaf()
            y = torch.sin(torch.sin(x))
            with graph.allow_mutation_on_saved_tensors():
                z = steps(y)
                crowd()
                first = grad(z.sum(), x, create_graph=True)[0]
                see(z, first, *grad(first.sum(), x))
                z = steps(y)
            see(refused(z.sum().backward))
