"""Properties of what autograd saves that PyTorch's own tests name: the same plainly and while tensors leave."""

import collections
import contextlib
import functools
import gc
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

from torch.autograd import grad
from torch.autograd.graph import saved_tensors_hooks

import autograd_fuzz
from beside_plain import SIZE, BesidePlain, numbers

PYTORCH_2 = int(torch.__version__.split(".")[0]) >= 2
PART = (128, 128)  # 64 KiB: the smallest that leaves
KINDS = {  # words of errors, also of those that mean the same
    "changed": ("modified by an inplace operation", "modified inplace", "new_fn INTERNAL ASSERT"),
    "detached": ("Trying to use a saved tensor that", "saved_for INTERNAL ASSERT"),
    "freed": ("already been freed",),
}
present = collections.deque(maxlen=1)


def leaf(seed=1, size=SIZE):
    return numbers(seed, *size).requires_grad_()


def crowd():
    """Tensors that take more than the small budget, and stay: they drive out what nobody else has."""
    x = leaf(99)
    present.append([torch.sin(x) for _ in range(3)])


def same(x):
    return x


def double(x):
    return 2 * x


def fail(*_):
    raise ZeroDivisionError("on purpose")


def identity_hooks():
    return saved_tensors_hooks(same, same)


def function(forward, backward, **more):
    """A torch.autograd.Function of these."""
    parts = {"forward": forward, "backward": backward, **more}
    return type("Own", (torch.autograd.Function,), {name: staticmethod(each) for name, each in parts.items()}).apply


def saving(ctx, result, *tensors):
    ctx.save_for_backward(*tensors)
    return result


def sine(backward):
    """A function that saves its cosine."""
    return function(lambda ctx, x: saving(ctx, torch.sin(x), torch.cos(x)), backward)


def refused(call):
    """The kind of the error that it raises, and its words where they are no kind's."""
    try:
        call()
    except Exception as error:
        kinds = [kind for kind, words in KINDS.items() if any(each in str(error) for each in words)]
        return f"{type(error).__name__}: {kinds[0] if kinds else str(error).splitlines()[:1]}"
    return "no error"


def finish(see, loss, *leaves):
    """A backward pass, of which nobody but autograd has what was saved."""
    crowd()
    see(refused(loss.backward), *[each.grad for each in leaves])


def passes(see, loss, *keep):
    """One backward pass after the other, of which those keep the graph."""
    crowd()
    see(*[refused(lambda each=each: loss.backward(retain_graph=each)) for each in keep])


def twice(see, y, x):
    """A gradient and its gradient."""
    loss = y.sum()
    del y
    crowd()
    first = grad(loss, x, create_graph=True)[0]
    see(first, *grad(first.sum(), x))


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
    present.clear()
    return seen


def holds(leaves=True, beside=contextlib.nullcontext, enters=False, needs=True):
    """A test of a step that tells `see` what it sees: that is the same `beside` a budget, and something of it `leaves`. A step
    that `enters` the budget itself gets it as an argument."""
    def test_of(step):
        @unittest.skipUnless(needs, "not in this PyTorch")
        @functools.wraps(step)
        def test(self):
            expected = outcome(step, beside, enters)
            self.assertEqual(expected[-1], "no error")
            for budget in self.budgets():
                for repeat in (1, 2):
                    found = outcome(step, lambda: budget, enters)
                    self.assertEqual(found, expected, f"budget {budget.last.budget}, step {repeat}")
                    self.assertTrue(budget.last.left > 0 or not leaves or budget.last.budget == 1 << 30, "nothing has left")
        return test
    return test_of


class Properties(BesidePlain):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)  # tensors are small
        cls.addClassCleanup(gc.unfreeze)
        gc.freeze()  # what is there for good; some tests collect what they leave


class WhatIsSaved(Properties):
    @holds()
    def test_the_names_of_an_op_give_all_that_it_saved(self, see):
        where = torch.arange(0, 512, 2)
        for op in (lambda y: y * y, torch.exp, lambda y: y ** 3, lambda y: y[where, 3:], lambda y: y.max(1)[0], torch.Tensor.half,
                   lambda y: torch.where(y > 0, y, y * 2), lambda y: torch.layer_norm(y, (256,)), lambda y: y.softmax(1),
                   lambda y: torch.dropout(y, 0.3, True), lambda y: y @ y.t(), lambda y: torch.stack([y, y]).sum(0)):
            x = leaf()
            z = op(x * 2)
            crowd()
            names = [each for each in dir(z.grad_fn) if each.startswith("_saved_")]
            for name in names:
                value = getattr(z.grad_fn, name)
                see(name, value)
                if isinstance(value, torch.Tensor):
                    see(value.requires_grad, value.is_leaf, type(value.grad_fn).__name__, value.output_nr, value.stride())
            finish(see, z.sum(), x)
            see(*[refused(lambda name=name: getattr(z.grad_fn, name)) for name in names if "_raw" + name in dir(z.grad_fn)])

    @holds()
    def test_what_is_asked_for_early_is_what_the_tensor_becomes(self, see):
        x = leaf()
        left, y = torch.sin(torch.sin(x)), leaf(2).exp()
        crowd()
        early = y.grad_fn._saved_result
        with torch.no_grad():
            y.add_(1)
        see(early, early._version, y._version, refused(y.sum().backward), *grad(left.sum(), x))

    @holds()
    def test_a_change_is_refused_by_those_who_saved_what_changed(self, see):
        ops = (torch.exp, torch.sin, lambda y: y * y, lambda y: y + 1, torch.sigmoid, torch.relu, lambda y: y.max(1)[0],
               torch.sqrt, lambda y: y.view(-1) * 1, lambda y: y.cumprod(1), lambda y: y.clamp(0, 1))
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
        crowd()
        for x, loss in losses:
            see(refused(loss.backward), x.grad)

    @holds()
    def test_changes_through_views_and_of_their_bases(self, see):
        def without_history(change, *tensors):
            with torch.no_grad():
                return change(*tensors)

        def with_saved(y, change):
            saved.append((y.exp() * torch.sin(y[5:]).sum()).sum())
            change()

        changes = (
            lambda y, x: y[:, 4:].mul_(x[:, 4:]),
            lambda y, x: y.t()[3:].t().view(512, -1)[:, 2:].copy_(x[:1, 5:]),
            lambda y, x: y.mul_(torch.sin(y[3:].t()).sum()),
            lambda y, x: y[3:].sigmoid_().mul_(2),
            lambda y, x: y[3:].sigmoid_()[5].mul_(x[5]),
            lambda y, x: y.unbind(1)[3].mul_(2),
            lambda y, x: without_history(torch.split, y, 256)[1].mul_(2),
            lambda y, x: y[0].expand(3, 256)[0].add_(1),
            lambda y, x: y.masked_fill_(x > 0, 3)[5:8].index_put_((torch.arange(3), torch.arange(3)), x[0, :3]),
            lambda y, x: without_history(lambda: torch.sin(y[::2], out=y[1::2])),
            lambda y, x: x[3:].mul_(2),
            lambda y, x: with_saved(y, lambda: y.clamp_(-1, 1)),
            lambda y, x: with_saved(y, lambda: y[:5].mul_(x[:5])))
        for number, change in enumerate(changes):
            for start in (lambda x: torch.sin(x) * 2, lambda x: torch.zeros(SIZE), torch.exp):
                saved, x = [], leaf()
                y = start(x)
                see(number, refused(lambda: change(y, x)), y)
                loss = sum(saved) + (torch.tanh(y) * x).sum()
                del y
                finish(see, loss, x)

    @holds()
    def test_an_output_that_a_function_saved_keeps_its_number_and_history(self, see):
        def forward(ctx, x):
            a, b = torch.sin(x), torch.cos(x)
            return saving(ctx, (a, b), a, None, b, x, b)

        def backward(ctx, for_a, for_b):
            a, nothing, b, x, again = ctx.saved_tensors
            see(nothing, *[(each.output_nr, each.requires_grad, each.is_leaf, type(each.grad_fn).__name__) for each in (a, b, x)])
            see(*ctx.saved_tensors, torch.equal(b, again))
            return for_a * b - for_b * a

        for x in (leaf(), torch.sin(leaf())):
            twice(see, (lambda a, b: a * 2 + b.square())(*function(forward, backward)(x)), x)

    @holds()
    def test_the_last_call_counts_and_what_was_saved_is_there_until_it_is_freed(self, see):
        def forward(ctx, x):
            contexts.append(ctx)
            ctx.save_for_backward(x, x * 2)
            return saving(ctx, torch.sin(x), torch.cos(x))

        def backward(ctx, gradient):
            (first,), (second,) = ctx.saved_tensors, ctx.saved_tensors
            see(first, second, first._version)
            return second * gradient

        contexts = []
        loss = function(forward, backward)(leaf()).sum()
        crowd()
        loss.backward(retain_graph=True)
        see(*contexts[0].saved_tensors, refused(loss.backward), refused(lambda: contexts[0].saved_tensors))

    @holds()
    def test_a_function_that_is_differentiable_once(self, see):
        x = leaf()
        once = torch.autograd.function.once_differentiable(lambda ctx, gradient: ctx.saved_tensors[0] * gradient)
        see(refused(lambda: twice(see, sine(once)(x) * x, x)))

    @holds()
    def test_functions_that_change_their_input(self, see):
        def forward(ctx, x, saves):
            x.clamp_(-0.5, 0.5)
            ctx.mark_dirty(x)
            return saving(ctx, x, x if saves else torch.zeros(SIZE))

        def backward(ctx, gradient):
            return gradient * (ctx.saved_tensors[0].abs() < 0.5), None

        for saves in (False, True):
            for of in (lambda x: x * 2, lambda x: (x * 2)[:, 8:], same, lambda x: x[3:], lambda x: (x * 2).unbind(0)[1],
                       lambda x: torch.sin(x * 2).exp(), lambda x: (x * 2).t()):
                x, results = leaf(), []
                see(refused(lambda: results.append(function(forward, backward)(of(x), saves))))
                while results:
                    finish(see, torch.sin(results.pop()).mul(2).sum(), x)

    @holds(needs=hasattr(torch.autograd.Function, "setup_context"))
    def test_what_a_function_saves_in_its_setup(self, see):
        def setup_context(ctx, inputs, output):
            ctx.exponent = inputs[1]
            ctx.save_for_backward(output, torch.sin(output))

        def backward(ctx, gradient):
            return gradient * ctx.exponent * ctx.saved_tensors[0] + 0 * ctx.saved_tensors[1], None

        x = leaf()
        twice(see, function(lambda x, exponent: torch.exp(x) ** exponent, backward, setup_context=setup_context)(x, 2), x)
