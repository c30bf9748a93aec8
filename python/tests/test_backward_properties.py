"""Properties of backward passes and graphs that PyTorch's own tests name: the same plainly and while tensors leave."""

import gc
import threading
import unittest
import weakref

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import torch.autograd.forward_ad as forward_mode
from torch.autograd import Variable, grad, graph

from beside_plain import SIZE, numbers
from test_saved_tensor_properties import (
    PART, PYTORCH_2, Properties, crowd, fail, finish, function, holds, leaf, passes, refused, same, saving, sine)


class BackwardPasses(Properties):
    @holds()
    def test_hooks_of_gradients_and_their_order(self, see):
        def told(name, factor=None):
            def hook(*gradients):
                see(name, *gradients[-1] if isinstance(gradients[-1], tuple) else gradients[-1:])
                return None if factor is None else gradients[-1] * factor
            return hook

        x = leaf()
        y = torch.sin(x)
        y.register_hook(told("before it was changed", 2))
        y.grad_fn.register_hook(told("of the sine"))
        if hasattr(y.grad_fn, "register_prehook"):
            y.grad_fn.register_prehook(told("first of the sine"))
        y.mul_(torch.exp(x))
        y.register_hook(told("after it was changed", 3))
        x.register_hook(told("of the leaf"))
        handle = x.register_hook(told("for a while"))
        loss = torch.sin(torch.sin(y)).sum()
        del y
        crowd()
        loss.backward(retain_graph=True)
        handle.remove()
        finish(see, loss, x)

    @holds(needs=PYTORCH_2)
    def test_hooks_behind_gradients_and_of_several_gradients(self, see):
        def behind(p):
            see(p.grad)
            p.grad = None

        x, w = leaf(), leaf(2)
        x.register_post_accumulate_grad_hook(behind)
        y, z = torch.sin(x), torch.exp(w)
        graph.register_multi_grad_hook((y, z), lambda gradients: see(*gradients))
        graph.register_multi_grad_hook((y, z), see, mode="any")
        edge = graph.get_gradient_edge(y)
        loss = (torch.sin(torch.sin(y * z)) * x).sum()
        del y, z
        crowd()
        see(*grad(loss, edge, retain_graph=True))
        loss.backward(inputs=(w,), retain_graph=True)
        finish(see, loss, x, w)

    @holds()
    def test_backward_passes_within_backward_passes(self, see):
        def again(depth, within):
            def backward(ctx, gradient):
                with torch.enable_grad():
                    inner = ctx.saved_tensors[0].detach().requires_grad_()
                    loss = ((again(depth - 1, within)(inner) if depth else inner) * torch.sin(inner) * torch.exp(inner)).sum()
                    within(depth)
                loss.backward()
                return gradient * inner.grad
            return sine(backward)

        for depth, within in ((0, same), (2, same), (20, same), (2, lambda depth: depth or fail())):
            x = leaf(size=PART)
            finish(see, (again(depth, within)(torch.sin(x)) * torch.exp(x)).sum(), x)

    @holds()
    def test_backward_passes_within_hooks_and_calls_at_the_end(self, see):
        def penalty(gradient):
            Variable._execution_engine.queue_callback(last)
            with torch.enable_grad():
                g = gradient.detach().requires_grad_()
                (torch.sin(torch.sin(g * 2)) * x.detach()).sum().backward()
            return g.grad + gradient

        def last():
            see("last", x.grad)
            Variable._execution_engine.queue_callback(lambda: see("behind"))

        for of in (lambda x, y: x, lambda x, y: y):
            x = leaf()
            y = torch.sin(x)
            handle = of(x, y).register_hook(penalty)
            loss = torch.exp(torch.sin(y)).sum()
            crowd()
            loss.backward(retain_graph=True)
            handle.remove()
            finish(see, loss, x)

    @holds(leaves=False)
    def test_graphs_die_with_their_last_name(self, see):
        def forward(ctx, x, dirty, notes):
            ctx.notes = notes
            y = x if dirty else x.clone()
            if dirty:
                ctx.mark_dirty(x)
            return saving(ctx, y, y)

        def own(x, dirty, notes):
            return function(forward, lambda ctx, gradient: (gradient * ctx.saved_tensors[0], None, None))(x, dirty, notes)

        def cycle(x):
            notes = {}
            notes["own"] = own(x, False, notes)
            return notes["own"]

        def hook_cycle(x):
            y = torch.sin(x) * x
            y.register_hook(lambda gradient: (y, None)[1])
            return y

        for made in (lambda x: own(x * 2, True, {}), cycle, hook_cycle, lambda x: torch.sin(x).exp().tanh(),
                     lambda x: grad(torch.sin(x).exp().sum(), x, create_graph=True)[0]):
            for computes in (False, True):
                y, alive = made(leaf()), set()
                there = weakref.ref(alive), weakref.ref(y)
                y.grad_fn.metadata["alive"] = alive
                if computes:
                    y.sum().backward()
                del y, alive
                gc.collect()
                see(*[each() is None for each in there])

    @holds(leaves=False)
    def test_a_deep_graph_is_let_go(self, see):
        small = leaf()[0, 0]
        for _ in range(8000):
            small = torch.sin(small)
        see(small)

    @holds()
    def test_a_second_backward_pass_needs_what_was_freed_or_nothing(self, see):
        for op in (lambda y: y * y, torch.exp, lambda y: y * 2, lambda y: y.sum(1), lambda y: y.t(), lambda y: torch.sin(y) + y):
            for keep in ((False, False), (True, False, False), (True, True)):
                x = leaf(1, PART)
                passes(see, op(torch.sin(torch.sin(x))).sum() * 2, *keep)
                see(x.grad)

    @holds()
    def test_gradients_that_are_given_stay_as_they_are(self, see):
        for op in (lambda x: torch.log_softmax(x, 1), torch.exp, torch.clone, lambda x: x.gather(0, x.argsort(0))):
            x, given = leaf(), [numbers(seed, *SIZE) for seed in (2, 3)]
            outputs = [op(torch.sin(torch.sin(x))) for _ in given]
            crowd()
            torch.autograd.backward(outputs, given)
            see(x.grad, *given)

    @holds()
    def test_forward_gradients_and_what_is_saved_for_them(self, see):
        def forward(ctx, x, y):
            ctx.save_for_forward(y, x)
            return saving(ctx, x * y, x, y, torch.sin(x))

        def jvp(ctx, for_x, for_y):
            y, x = ctx.saved_tensors
            return for_x * y + for_y * x

        def backward(ctx, gradient):
            return tuple(gradient * each for each in ctx.saved_tensors[1::-1])

        x, y = leaf(), leaf(2)
        with forward_mode.dual_level():
            one, two = (forward_mode.make_dual(each, torch.cos(each)) for each in (x, y))
            result = function(forward, backward, jvp=jvp)(torch.sin(one), torch.exp(two * one))
            see(*forward_mode.unpack_dual(result))
            del one, two
            finish(see, result.sum(), x, y)

    @holds()
    def test_many_gradients_at_once_and_products_with_hessians(self, see):
        x = leaf(1, PART)
        y = torch.sin(torch.sin(torch.sin(x) * x).sum(1))
        crowd()
        see(*grad(y, x, torch.eye(128)[:3], retain_graph=True, is_grads_batched=True), *grad(y.sum(), x))
        for product in (torch.autograd.functional.vhp, torch.autograd.functional.hvp):
            see(*product(lambda x: (torch.sin(torch.exp(x)).square() * x).sum(), x, numbers(2, *PART)))

    @holds()
    def test_anomalies_are_found(self, see):
        with torch.autograd.detect_anomaly():
            x = leaf()
            finish(see, (torch.sqrt(torch.sin(x) - 2) * 0).sum(), x)

    @holds()
    def test_backward_passes_to_some_inputs(self, see):
        x, w = leaf(), leaf(2)
        y = torch.sin(x * w)
        loss = (torch.exp(torch.sin(y)) * w).sum()
        crowd()
        loss.backward(inputs=(x,), retain_graph=True)
        loss.backward(inputs=(y, w), retain_graph=True)
        see(x.grad, w.grad, y.grad, *grad(loss, (y, leaf(3)), allow_unused=True, retain_graph=True))
        see(refused(lambda: grad(loss, leaf(3))))

    @holds()
    def test_errors_in_backward_passes(self, see):
        for retain in (False, True):
            x, w = leaf(), leaf(2)
            left = torch.exp(torch.sin(torch.sin(x)) * w)
            loss = sine(lambda ctx, gradient: fail(ctx.saved_tensors))(left).sum()
            handle = w.register_hook(fail)
            crowd()
            see(refused(lambda: loss.backward(retain_graph=True)), refused(lambda: left.sum().backward(retain_graph=retain)))
            handle.remove()
            see(refused(loss.backward), refused(left.sum().backward), x.grad, w.grad)

    @holds()
    def test_hooks_of_modules_and_gradients_of_their_gradients(self, see):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64), torch.nn.LayerNorm(64))
        model[1].register_full_backward_hook(lambda module, of_input, of_output: see(*of_input, *of_output))
        model.register_full_backward_hook(lambda module, of_input, of_output: (of_input[0] * 2,))
        x = leaf()
        loss = torch.nn.functional.mse_loss(model(x), numbers(2, 512, 64))
        crowd()
        first = grad(loss, (x, *model.parameters()), create_graph=True)
        sum(each.square().sum() for each in first).backward()
        see(*first, x.grad, *[each.grad for each in model.parameters()])

    @holds()
    def test_gradients_that_are_retained(self, see):
        x = leaf()
        y = torch.sin(x)
        z = torch.sin(y * 2)
        for each in (y, z):
            each.retain_grad()
        z.mul_(torch.exp(y))
        z.retain_grad()
        finish(see, torch.sin(torch.sin(z)).sum(), x, y, z)

    @holds()
    def test_backward_passes_in_other_threads(self, see):
        def in_threads(call, times):
            results = []
            threads = [threading.Thread(target=lambda: results.append(refused(call))) for _ in range(times)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            see(*sorted(results))

        x, made = leaf(), []
        y = torch.sin(torch.exp(torch.sin(x)))
        in_threads(lambda: made.append(torch.sin(torch.exp(y))), 1)
        loss = torch.sin(made.pop()).sum()
        crowd()
        in_threads(lambda: loss.backward(retain_graph=True), 4)
        in_threads(loss.backward, 1)
        see(x.grad, refused(loss.backward))

    @holds()
    def test_what_saves_nothing_and_what_may_not_be_saved(self, see):
        x = leaf()
        with torch.no_grad():
            unseen = torch.exp(torch.sin(x))
        with torch.inference_mode():
            inferred = torch.exp(x)
        weight = torch.sin(torch.sin(x))
        see(unseen.requires_grad, refused(lambda: weight * inferred), refused((inferred * 2).sum().backward))
        loss = (weight * unseen + inferred).sum()
        del weight, unseen, inferred
        finish(see, loss, x)
