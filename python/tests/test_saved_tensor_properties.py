"""Properties of saved tensors and their hooks that PyTorch's own tests name: the same plainly and while tensors leave."""

import contextlib
import copy
import functools
import gc
import os
import tempfile
import unittest
import warnings
import weakref

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import torch.autograd.forward_ad as forward_mode
from torch.autograd.graph import saved_tensors_hooks

import autograd_fuzz
import sluice
from beside_plain import SIZE, BesidePlain, numbers

PART = (128, 128)  # 64 KiB: the smallest that leaves
Function = torch.autograd.Function
KINDS = {  # words of errors, also of those that mean the same
    "changed": ("modified by an inplace operation", "modified inplace", "new_fn INTERNAL ASSERT"),
    "detached": ("Trying to use a saved tensor that", "saved_for INTERNAL ASSERT"),
    "freed": ("already been freed",),
}


def leaf(seed, size=SIZE):
    return numbers(seed, *size).requires_grad_()


def crowd():
    """Tensors that take more than the small budget, and cannot leave: who holds them drives out what nobody else has."""
    x = leaf(99)
    return [torch.sin(x) for _ in range(3)]


def same(x):
    return x


def double(x):
    return 2 * x


def refused(call):
    """The kind of the error that it raises, and its words where they are no kind's."""
    try:
        call()
    except Exception as error:
        kinds = [kind for kind, words in KINDS.items() if any(each in str(error) for each in words)]
        return f"{type(error).__name__}: {kinds[0] if kinds else error}"
    return "no error"


def identity_hooks():
    return saved_tensors_hooks(same, same)


def outcome(step, within, enters):
    """The bits of all that a step sees, and its error."""
    seen = []

    def see(*values):
        seen.extend(autograd_fuzz.bits(each) for each in values)

    torch.manual_seed(0)
    if enters:
        seen.append(refused(lambda: step(None, see, within)))
    else:
        with within():
            seen.append(refused(lambda: step(None, see)))
    return seen


def holds(leaves=True, beside=contextlib.nullcontext, enters=False, needs=True):
    """A test of a step that tells `see` what it sees: that is the same `beside` a budget, and something of it leaves. A step that
    `enters` the budget itself gets it as an argument."""
    def test_of(step):
        @unittest.skipUnless(needs, "not in this PyTorch")
        @functools.wraps(step)
        def test(self):
            expected = outcome(step, beside, enters)
            self.assertEqual(expected[-1], "no error")
            for budget in self.budgets():
                for repeat in range(2):
                    self.assertEqual(outcome(step, lambda: budget, enters), expected, f"budget {budget.last.budget}, step {repeat + 1}")
                    self.assertTrue(budget.last.left > 0 or not leaves or budget.last.budget == 1 << 30, "nothing has left")
            gc.collect()
        return test
    return test_of


class WhatIsSaved(BesidePlain):
    @holds()
    def test_the_names_of_an_op_give_all_that_it_saved(self, see):
        where = torch.arange(0, 512, 2)
        for op in (lambda y: y * y, torch.exp, lambda y: y ** 3, lambda y: y[where, 3:], lambda y: y.max(1)[0], lambda y: y.sum(0),
                   lambda y: torch.where(y > 0, y, y * 2), lambda y: y.half(), lambda y: torch.layer_norm(y, (256,)),
                   lambda y: y.softmax(1), lambda y: torch.dropout(y, 0.3, True), lambda y: y @ y.t(), lambda y: torch.stack([y, y])):
            x = leaf(1)
            z = op(x * 2)
            others, node = crowd(), z.grad_fn
            names = [each for each in dir(node) if each.startswith("_saved_")]
            for name in names:
                value = getattr(node, name)
                see(name, value)
                if isinstance(value, torch.Tensor):
                    see(value.requires_grad, value.is_leaf, type(value.grad_fn).__name__, value.output_nr, value.stride())
            z.sum().backward()
            see(x.grad, *[refused(lambda name=name: getattr(node, name)) for name in names if "_saved_" + name in dir(node)])
            del others

    @holds()
    def test_what_is_asked_for_early_is_what_the_tensor_becomes(self, see):
        left = torch.sin(torch.sin(leaf(1)))
        x = leaf(2)
        y = x.exp()
        others, early = crowd(), y.grad_fn._saved_result
        with torch.no_grad():
            y.add_(1)
        see(early, early._version, y._version, refused(y.sum().backward))
        del left, others

    @holds()
    def test_a_change_is_refused_by_those_who_saved_what_changed(self, see):
        ops = (torch.exp, torch.sin, lambda y: y * y, lambda y: y + 1, torch.sigmoid, torch.relu, lambda y: y.max(1)[0], torch.sqrt,
               lambda y: y.view(-1) * 1, lambda y: y.cumprod(1), lambda y: y.clamp(0, 1))
        changes = (lambda t: t.add_(1), lambda t: t[3:].mul_(2), lambda t: t.detach().zero_(), lambda t: t.detach_(),
                   lambda t: t.unsqueeze_(0), lambda t: t.data.fill_(0.5), lambda t: torch.exp(t.detach(), out=t.detach()))
        losses = []
        for op in ops:
            for change in changes:
                for which in range(2):
                    x = leaf(1, PART)
                    y = x * 1.5
                    z = op(y)
                    see(refused(lambda: change((y, z)[which])))
                    losses.append((x, (z * 1).sum()))
                    del y, z
        others = crowd()
        for x, loss in losses:
            see(refused(loss.backward), x.grad)
        del others

    @holds()
    def test_an_output_that_a_function_saved_keeps_its_number_and_history(self, see):
        class Both(Function):
            @staticmethod
            def forward(ctx, x):
                a, b = torch.sin(x), torch.cos(x)
                ctx.save_for_backward(a, None, b, x, b)
                return a, b

            @staticmethod
            def backward(ctx, for_a, for_b):
                a, nothing, b, x, again = ctx.saved_tensors
                see(nothing, *[(each.output_nr, each.requires_grad, each.is_leaf, type(each.grad_fn).__name__) for each in (a, b, x)])
                see(*ctx.saved_tensors, torch.equal(b, again))
                return for_a * b - for_b * a

        for x in (leaf(1), torch.sin(leaf(1))):
            outputs = Both.apply(x)
            loss = (outputs[0] * 2 + outputs[1].square()).sum()
            del outputs
            others = crowd()
            (first,) = torch.autograd.grad(loss, x, create_graph=True)
            see(first, *torch.autograd.grad(first.sum(), x))
            del others

    @holds()
    def test_the_last_call_counts_and_what_was_saved_is_there_until_it_is_freed(self, see):
        class Stashed(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x, x * 2)
                ctx.save_for_backward(torch.cos(x))
                contexts.append(ctx)
                return torch.sin(x)

            @staticmethod
            def backward(ctx, gradient):
                (first,), (second,) = ctx.saved_tensors, ctx.saved_tensors
                see(first, second, first._version, len(ctx.saved_tensors))
                return second * gradient

        contexts = []
        loss = Stashed.apply(leaf(1)).sum()
        others = crowd()
        loss.backward(retain_graph=True)
        see(*contexts[0].saved_tensors, refused(loss.backward), refused(lambda: contexts[0].saved_tensors))
        del others

    @holds()
    def test_a_function_that_is_differentiable_once(self, see):
        class Once(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(torch.cos(x))
                return torch.sin(x)

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, gradient):
                return ctx.saved_tensors[0] * gradient

        x = leaf(1)
        loss = (Once.apply(x) * x).sum()
        others = crowd()
        (first,) = torch.autograd.grad(loss, x, create_graph=True)
        see(first, refused(first.sum().backward))
        del others

    @holds()
    def test_functions_that_change_their_input(self, see):
        class Clamped(Function):
            @staticmethod
            def forward(ctx, x, saves):
                x.clamp_(-0.5, 0.5)
                ctx.mark_dirty(x)
                ctx.save_for_backward(x if saves else torch.zeros(SIZE))
                return x

            @staticmethod
            def backward(ctx, gradient):
                return gradient * (ctx.saved_tensors[0].abs() < 0.5), None

        for saves in (False, True):
            for of in (lambda x: x * 2, lambda x: (x * 2)[:, 8:], lambda x: x, lambda x: x[3:], lambda x: (x * 2).unbind(0)[1],
                       lambda x: torch.sin(x * 2).exp(), lambda x: (x * 2).t()):
                x, results = leaf(1), []
                see(refused(lambda: results.append(Clamped.apply(of(x), saves))))
                others = crowd()
                for y in results:
                    see(y, refused((torch.sin(y) * 2).sum().backward), x.grad)
                del others

    @holds(leaves=False)
    def test_graphs_die_with_their_last_name(self, see):
        class Alive:
            pass

        class Saves(Function):
            @staticmethod
            def forward(ctx, x, dirty, notes):
                ctx.notes = notes
                y = x if dirty else x.clone()
                if dirty:
                    ctx.mark_dirty(x)
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, gradient):
                return gradient * ctx.saved_tensors[0], None, None

        def functions(x):
            yield Saves.apply(x * 2, True, {})
            notes = {}
            notes["own"] = Saves.apply(x, False, notes)  # a cycle
            yield notes["own"]
            yield torch.sin(x).exp().tanh()
            y = torch.sin(x) * x
            y.register_hook(lambda gradient: (y, None)[1])  # a cycle of a hook's
            yield y
            yield torch.autograd.grad(torch.sin(x).exp().sum(), x, create_graph=True)[0]

        for number in range(5):
            for passes in range(2):
                node, alive = list(functions(leaf(1)))[number], Alive()
                there = weakref.ref(alive), weakref.ref(node)
                node.grad_fn.metadata["alive"] = alive
                if passes:
                    node.sum().backward()
                del node, alive
                gc.collect()
                see(*[each() is None for each in there])

    @holds()
    def test_a_second_backward_pass_needs_what_was_freed_or_nothing(self, see):
        for op in (lambda y: y * y, torch.exp, lambda y: y * 2, lambda y: y.sum(1), lambda y: y.t(), lambda y: torch.sin(y) + y):
            for passes in ((False, False), (True, False, False), (True, True)):
                x = leaf(1, PART)
                loss = op(torch.sin(torch.sin(x))).sum() * 2
                others = crowd()
                see(*[refused(lambda keep=keep: loss.backward(retain_graph=keep)) for keep in passes], x.grad)
                del others

    @holds()
    def test_gradients_that_are_given_stay_as_they_are(self, see):
        for op in (lambda x: torch.log_softmax(x, 1), lambda x: x.exp(), lambda x: x.clone(), lambda x: x.gather(0, x.argsort(0))):
            x, given = leaf(1), [numbers(seed, *SIZE) for seed in (2, 3)]
            outputs = [op(torch.sin(x)), op(torch.sin(x))]
            others = crowd()
            torch.autograd.backward(outputs, given)
            see(x.grad, *given)
            del others

    @holds()
    def test_changes_through_views_and_of_their_bases(self, see):
        def change_view(y, x):
            y[:, 4:].mul_(x[:, 4:])

        def change_view_of_view(y, x):
            y.t()[3:].t().view(512, -1)[:, 2:].copy_(x[:1, 5:])

        def save_view_then_change_base(y, x):
            y.mul_(torch.sin(y[3:].t()).sum())

        def save_output_on_view(y, x):
            y[3:].sigmoid_().mul_(2)

        def change_what_an_output_on_view_was(y, x):
            y[3:].sigmoid_()[5].mul_(x[5])

        def change_one_of_several(y, x):
            y.unbind(1)[3].mul_(2)

        def change_one_of_several_without_history(y, x):
            with torch.no_grad():
                part = y.split(256)[1]
            part.mul_(2)

        def change_expanded(y, x):
            y[0].expand(3, 256)[0].add_(1)

        def set_parts(y, x):
            y[x > 0] = 3
            y[torch.arange(3), 5:8] = x[:3, :3]

        def change_without_history(y, x):
            with torch.no_grad():
                torch.sin(y[::2], out=y[1::2])

        def change_leaf(y, x):
            x[3:].mul_(2)

        def change_saved_twice(y, x):
            saved.append((y.exp() * torch.sin(y[5:]).sum()).sum())
            y.clamp_(-1, 1)

        for change in (change_view, change_view_of_view, save_view_then_change_base, save_output_on_view, change_what_an_output_on_view_was,
                       change_one_of_several, change_one_of_several_without_history, change_expanded, set_parts, change_without_history,
                       change_leaf, change_saved_twice):
            for start in (lambda x: torch.sin(x) * 2, lambda x: torch.zeros(SIZE), lambda x: torch.exp(x)):
                saved, x = [], leaf(1)
                y = start(x)
                see(change.__name__, refused(lambda: change(y, x)))
                loss = sum(saved) + (torch.tanh(y) * x).sum()
                see(y)
                del y
                others = crowd()
                see(refused(loss.backward), x.grad)
                del others

    @holds()
    def test_what_saves_nothing_and_what_may_not_be_saved(self, see):
        x = leaf(1)
        with torch.no_grad():
            unseen = torch.exp(torch.sin(x))
        with torch.inference_mode():
            inferred = torch.exp(x)
        weight = torch.sin(torch.sin(x))
        see(unseen.requires_grad, refused(lambda: weight * inferred), refused(lambda: (inferred * 2).sum().backward()))
        loss = (weight * unseen + inferred).sum()
        del weight, unseen, inferred
        others = crowd()
        loss.backward()
        see(x.grad)
        del others

    @holds()
    def test_forward_gradients_and_what_is_saved_for_them(self, see):
        class Product(Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y, torch.sin(x))
                ctx.save_for_forward(y, x)
                return x * y

            @staticmethod
            def jvp(ctx, for_x, for_y):
                y, x = ctx.saved_tensors
                return for_x * y + for_y * x

            @staticmethod
            def backward(ctx, gradient):
                x, y, _ = ctx.saved_tensors
                return gradient * y, gradient * x

        x, y = leaf(1), leaf(2)
        with forward_mode.dual_level():
            one, two = (forward_mode.make_dual(each, torch.cos(each)) for each in (x, y))
            result = Product.apply(torch.sin(one), torch.exp(two * one))
            see(*forward_mode.unpack_dual(result))
            del one, two
            others = crowd()
            result.sum().backward()
            see(x.grad, y.grad)
            del others

    @holds()
    def test_many_gradients_at_once_and_products_with_hessians(self, see):
        x = leaf(1, PART)
        y = torch.sin(torch.sin(torch.sin(x) * x).sum(1))
        others = crowd()
        see(*torch.autograd.grad(y, x, torch.eye(128)[:3], retain_graph=True, is_grads_batched=True), *torch.autograd.grad(y.sum(), x))
        del others
        for product in (torch.autograd.functional.vhp, torch.autograd.functional.hvp, torch.autograd.functional.jvp):
            see(*product(lambda x: (torch.sin(torch.exp(x)).square() * x).sum(), x, numbers(2, *PART) if product.__name__ != "jvp" else x))

    @holds()
    def test_anomalies_are_found(self, see):
        with torch.autograd.detect_anomaly():
            x = leaf(1)
            loss = (torch.sqrt(torch.sin(x) - 2) * 0).sum()
            others = crowd()
            see(refused(loss.backward), x.grad)
            del others

    @holds(needs=hasattr(Function, "setup_context"))
    def test_what_a_function_saves_in_its_setup(self, see):
        class Power(Function):
            @staticmethod
            def forward(x, exponent=3):
                return torch.exp(x) ** exponent

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.exponent = inputs[1]
                ctx.save_for_backward(output, torch.sin(output))

            @staticmethod
            def backward(ctx, gradient):
                output, unused = ctx.saved_tensors
                return gradient * ctx.exponent * output + 0 * unused, None

        x = leaf(1)
        loss = Power.apply(x, 2).sum()
        others = crowd()
        (first,) = torch.autograd.grad(loss, x, create_graph=True)
        see(first, *torch.autograd.grad(first.sum(), x))
        del others

    @holds()
    def test_a_deep_graph_is_let_go(self, see):
        x = leaf(1)
        small, large = x[0, 0], torch.sin(torch.sin(x))
        for _ in range(8000):
            small = torch.sin(small)
        for _ in range(60):
            large = torch.sin(large)
        see(small, large)
        del small, large
