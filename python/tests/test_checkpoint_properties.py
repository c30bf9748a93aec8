"""Properties of hooks, backward passes and checkpoints that PyTorch's own tests name: the same plainly and while tensors leave."""

import contextlib
import gc
import io
import os
import tempfile
import threading
import unittest
import weakref

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import torch.utils.checkpoint as checkpoints
from torch.autograd import grad
from torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

from beside_plain import SIZE, numbers
from test_saved_tensor_properties import Properties, crowd, double, fail, function, holds, identity_hooks, leaf, refused, same, saving

PYTORCH_2 = int(torch.__version__.split(".")[0]) >= 2
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
            see(refused(lambda: see(*grad((x * 3).sum(), x))))

    # PyTorch lets a saved tensor have hooks of its own unless it has those of a context.
    @holds(beside=identity_hooks)
    def test_hooks_of_one_saved_tensor_within_a_step(self, see):
        x = leaf()
        y = torch.exp(torch.sin(torch.sin(x)))
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

    # Who leaves hooks that it has not entered leaves those of the step.
    @holds(beside=identity_hooks)
    def test_hooks_that_are_entered_or_left_in_a_backward_pass(self, see):
        hooks = saved_tensors_hooks(double, same)
        for act in (lambda: hooks.__exit__(), lambda: hooks.__enter__(), lambda: (hooks.__enter__(), hooks.__exit__())):
            x = leaf()
            y = function(lambda ctx, x: saving(ctx, torch.sin(x), torch.cos(x)),
                         lambda ctx, gradient: (act(), gradient * ctx.saved_tensors[0])[1])(torch.sin(x))
            y = torch.sin(torch.exp(y))
            crowd()
            see(refused(y.sum().backward), x.grad)
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
                loss = torch.sin(y).sum()
                del y
                crowd()
                first = grad(loss, x, create_graph=True)[0]
                see(first, *grad(first.sum(), x))

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
        crowd()
        see(refused(lambda: see(*grad(y.sum(), x))), other)

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
            crowd()
            with graph.allow_mutation_on_saved_tensors():
                z = steps(y)
                first = grad(z.sum(), x, create_graph=True)[0]
                see(z, first, *grad(first.sum(), x))
                z = steps(y)
            see(refused(z.sum().backward))


class BackwardPasses(Properties):
    @holds()
    def test_gradients_that_are_retained(self, see):
        x = leaf()
        y = torch.sin(x)
        y.retain_grad()
        z = torch.exp(y)
        kept = [y, torch.sin(y * 2)]
        kept[1].retain_grad()
        kept[1].mul_(z)
        kept[1].retain_grad()
        loss = torch.sin(torch.sin(kept[1])).sum()
        crowd()
        loss.backward()
        see(x.grad, *[each.grad for each in kept])

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
        handle = x.register_hook(told("never"))
        loss = torch.sin(torch.sin(y)).sum()
        loss.grad_fn.register_hook(told("of the sum"))
        del y
        crowd()
        loss.backward(retain_graph=True)
        handle.remove()
        loss.backward()
        see(x.grad)

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
        loss.backward()
        see(x.grad, w.grad)

    @holds()
    def test_backward_passes_to_some_inputs(self, see):
        x, w = leaf(), leaf(2)
        y = torch.sin(x * w)
        loss = (torch.exp(torch.sin(y)) * w).sum()
        crowd()
        loss.backward(inputs=(x,), retain_graph=True)
        loss.backward(inputs=(y, w), retain_graph=True)
        see(x.grad, w.grad, y.grad, *grad(loss, (y, leaf(3)), allow_unused=True, retain_graph=True), refused(lambda: grad(loss, leaf(3))))

    @holds()
    def test_backward_passes_within_backward_passes(self, see):
        def again(depth, within=lambda x: None):
            def backward(ctx, gradient):
                with torch.enable_grad():
                    inner = ctx.saved_tensors[0].detach().requires_grad_()
                    loss = ((again(depth - 1, within)(inner) if depth else inner) * torch.sin(inner) * torch.exp(inner)).sum()
                    within(depth)
                loss.backward()
                return gradient * inner.grad
            return function(lambda ctx, x: saving(ctx, torch.sin(x), torch.sin(x)), backward)

        for depth, within in ((0, same), (2, same), (20, same), (2, lambda depth: depth or fail())):
            x = leaf(1, (128, 128))
            loss = (again(depth, within)(torch.sin(x)) * torch.exp(x)).sum()
            crowd()
            see(refused(loss.backward), x.grad)

    @holds()
    def test_backward_passes_within_hooks(self, see):
        def penalty(gradient):
            with torch.enable_grad():
                g = gradient.detach().requires_grad_()
                (torch.sin(torch.sin(g * 2)) * x.detach()).sum().backward()
            return g.grad + gradient

        for of in (lambda x, y: x, lambda x, y: y):
            x = leaf()
            y = torch.sin(x)
            handle = of(x, y).register_hook(penalty)
            loss = torch.exp(torch.sin(y)).sum()
            crowd()
            loss.backward(retain_graph=True)
            handle.remove()
            loss.backward()
            see(x.grad)

    @holds()
    def test_calls_at_the_end_of_a_backward_pass(self, see):
        def last():
            see("last", x.grad)
            torch.autograd.Variable._execution_engine.queue_callback(lambda: see("behind"))
            with torch.enable_grad():
                torch.sin(torch.sin(x)).sum().backward()

        def backward(ctx, gradient):
            torch.autograd.Variable._execution_engine.queue_callback(last)
            return gradient * ctx.saved_tensors[0]

        x = leaf()
        loss = torch.sin(torch.sin(function(lambda ctx, x: saving(ctx, torch.sin(x), torch.cos(x)), backward)(x))).sum()
        crowd()
        loss.backward()
        see(x.grad)

    @holds()
    def test_backward_passes_in_other_threads(self, see):
        def in_threads(call, times):
            results = [None] * times

            def run(number):
                results[number] = refused(call)

            threads = [threading.Thread(target=run, args=(number,)) for number in range(times)]
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
    def test_errors_in_backward_passes(self, see):
        for retain in (False, True):
            x, w = leaf(), leaf(2)
            y = torch.sin(torch.sin(x)) * w
            left = torch.exp(y)
            loss = function(lambda ctx, y: saving(ctx, torch.sin(y), torch.cos(y)), lambda ctx, gradient: fail(ctx.saved_tensors))(left).sum()
            handle = w.register_hook(fail)
            crowd()
            see(refused(lambda: loss.backward(retain_graph=retain)), refused(loss.backward), refused(lambda: left.sum().backward()))
            handle.remove()
            see(refused(left.sum().backward), x.grad, w.grad)

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


def both(test):
    """Of checkpoints of both kinds."""
    for reentrant in (True, False):
        test(lambda run, *values, **more: checkpoints.checkpoint(run, *values, use_reentrant=reentrant, **more))


def block(x):
    return torch.sin(torch.exp(torch.sin(x)) * x)


class Checkpoints(Properties):
    @holds()
    def test_gradients_through_checkpoints(self, see):
        def test(checkpoint):
            for x in (leaf(), numbers(1, *SIZE)):
                w = leaf(2)
                y = checkpoint(lambda x: block(x) * w, torch.sin(x))
                y = torch.sin(checkpoint(block, torch.exp(y)))
                loss = y.sum()
                del y
                crowd()
                see(refused(loss.backward), x.grad, w.grad, refused(loss.backward))

        both(test)

    @holds()
    def test_gradients_that_are_not_accumulated_and_those_of_gradients(self, see):
        def test(checkpoint):
            x = leaf()
            for more in ({}, {"create_graph": True}, {"retain_graph": True}):
                loss = torch.sin(checkpoint(block, torch.sin(checkpoint(block, x)))).sum()
                crowd()
                first = []
                see(refused(lambda: first.extend(grad(loss, x, **more))), *first)
                see(*[refused(lambda each=each: see(*grad(each.sum(), x))) for each in first])
            see(refused(torch.sin(checkpoint(block, x)).sum().backward), x.grad)

        both(test)

    @holds()
    def test_second_passes_through_checkpoints(self, see):
        def test(checkpoint):
            calls = []
            x = leaf()
            loss = torch.sin(checkpoint(lambda x: (calls.append(0), block(x))[1], torch.sin(x))).sum()
            crowd()
            see(*[refused(lambda keep=keep: loss.backward(retain_graph=keep)) for keep in (True, True, False, False)], x.grad, len(calls))

        both(test)

    @holds()
    def test_arguments_and_results_of_all_kinds(self, see):
        def run(number, values, x, call=torch.exp, blah=None):
            see(number, sorted(values), blah)
            return {"y": call(torch.sin(x) * values["w"]) * number}, 1, "two", torch.sin(x) * 2, x.argmax(1)

        def test(checkpoint):
            for more in ({}, {"blah": 3}):
                x, w, results = leaf(), leaf(2), []
                see(refused(lambda: results.append(checkpoint(run, 3, {"w": torch.sin(w)}, torch.sin(x), torch.cos, **more))))
                crowd()
                for values, one, two, y, order in results:
                    see(one, two, order, order.requires_grad)
                    see(refused((torch.sin(values["y"]) * torch.sin(y)).sum().backward), x.grad, w.grad)

        both(test)

    @holds()
    def test_results_without_history(self, see):
        def without_history(x):
            with torch.no_grad():
                return block(x)

        def test(checkpoint):
            for run in (without_history, lambda x: (block(x), x.detach()), lambda x: block(x).detach(), same, lambda x: x.view(256, 512).t()):
                x = leaf()
                result = checkpoint(run, torch.sin(x))
                y = result if isinstance(result, torch.Tensor) else result[0]
                left = torch.exp(torch.sin(torch.sin(y))) * torch.sin(x)
                del result, y
                crowd()
                see(refused(left.sum().backward), x.grad)

        both(test)

    @holds()
    def test_a_parameter_inside_and_outside_has_its_hook_called_once(self, see):
        def test(checkpoint):
            w, x, calls = leaf(), leaf(2), []
            w.register_hook(lambda gradient: calls.append(0))
            y = checkpoint(lambda x: torch.sin(w * x), torch.sin(w * x))
            crowd()
            y.sum().backward()
            see(w.grad, x.grad, len(calls))

        both(test)

    @holds()
    def test_types_and_random_numbers_are_as_they_were(self, see):
        def run(x):
            y = torch.dropout(x @ x.t(), 0.3, True)
            see(y, str(y.dtype))
            return torch.sin(y)

        def test(checkpoint):
            for enabled in (False, True):
                for more in ({}, {"preserve_rng_state": False}):
                    x = leaf(1, (256, 256))
                    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
                        loss = torch.sin(checkpoint(run, torch.sin(x), **more).float()).sum()
                    crowd()
                    loss.backward()
                    see(x.grad, torch.rand(1))

        both(test)

    @holds()
    def test_functions_within_checkpoints(self, see):
        def backward(ctx, gradient):
            x, y = ctx.saved_tensors
            see(x, y, refused(lambda: see(*ctx.saved_tensors)))
            return gradient * y

        def test(checkpoint):
            x = leaf()
            y = checkpoint(lambda x: function(lambda ctx, x: saving(ctx, torch.exp(x), x, torch.exp(x)), backward)(torch.sin(x)), x * 2)
            loss = torch.sin(torch.sin(y)).sum()
            del y
            crowd()
            loss.backward()
            see(x.grad)

        both(test)

    @holds(needs=PYTORCH_2)
    def test_what_is_asked_for_outside_of_a_backward_pass_is_computed_each_time(self, see):
        calls, x = [], leaf()
        left = torch.sin(torch.sin(x))
        y = checkpoints.checkpoint(lambda x: (calls.append(0), torch.exp(torch.sin(x)))[1], x, use_reentrant=False)
        crowd()
        see(y.grad_fn._saved_result, y.grad_fn._saved_result, len(calls))
        (y * left).sum().backward()
        see(x.grad, len(calls), refused(lambda: y.grad_fn._saved_result))

    @holds()
    def test_runs_that_differ_from_the_first(self, see):
        def first_then(*runs):
            rest = list(runs)
            return lambda x: rest.pop(0)(x)

        shorter, other = (lambda x: torch.sin(torch.exp(x))), (lambda x: torch.sin(torch.exp(x[:, :128])).repeat(1, 2))
        settings = [{}] + ([{"debug": True}, {"determinism_check": "none"}] if PYTORCH_2 else [])

        def test(checkpoint):
            for runs in ((block, shorter), (shorter, block), (block, other), (block, fail), (fail, fail)):
                for more in settings[:1] if checkpoint is not None and runs[1] is fail else settings:
                    x, losses = leaf(), []
                    left = torch.sin(torch.sin(x))
                    see(refused(lambda: losses.append(checkpoint(first_then(*runs), torch.sin(x), **more) * left)).split(":")[0])
                    del left
                    crowd()
                    for loss in losses:
                        see(refused(loss.sum().backward).split(":")[0], x.grad)

        both(test)

    @holds(needs=PYTORCH_2)
    def test_a_run_stops_where_all_is_there(self, see):
        for early in (True, False):
            calls, x = [], leaf()
            with checkpoints.set_checkpoint_early_stop(early):
                y = checkpoints.checkpoint(lambda x: (block(x).clone(), calls.append(0))[0], torch.sin(x), use_reentrant=False)
            loss = torch.sin(torch.sin(y)).sum()
            del y
            crowd()
            loss.backward()
            see(x.grad, len(calls))

    @holds()
    def test_checkpoints_within_checkpoints_and_gradients_of_any_order(self, see):
        def gradient(run):
            def of(x):
                with torch.enable_grad():
                    return grad(run(x).sum(), x, create_graph=True)[0]
            return of

        def test(checkpoint):
            def c(run):
                return lambda x: checkpoint(run, x)

            def two(x):
                return c(torch.exp)(c(block)(x))

            for run in (c(c(block)), c(two), gradient(c(c(block))), c(gradient(c(block))), gradient(c(gradient(c(two)))),
                        c(gradient(gradient(c(block)))), gradient(c(gradient(c(gradient(c(block))))))):
                x = leaf(1, (128, 128))
                y = torch.sin(torch.sin(x))
                crowd()
                see(refused(lambda: see(run(y))), refused(lambda: torch.sin(run(y)).sum().backward()), x.grad)
                x.grad = None

        both(test)

    @holds()
    def test_hooks_of_nodes_of_checkpoints(self, see):
        def test(checkpoint):
            x = leaf()
            y, z = checkpoint(lambda x: (torch.sin(x), torch.exp(torch.sin(torch.sin(x)))), torch.sin(x))
            z.grad_fn.register_hook(lambda *_: see(refused(lambda: torch.sin(y).sum().backward(retain_graph=True))))
            z.grad_fn.next_functions[0][0].register_hook(lambda *gradients: see(*gradients[0]))
            left = torch.sin(torch.sin(z))
            crowd()
            see(refused(lambda: left.sum().backward(retain_graph=True)), x.grad)

        both(test)

    @holds()
    def test_changes_of_what_checkpoints_take_and_give(self, see):
        def test(checkpoint):
            for change in (lambda y, z: y.mul_(2), lambda y, z: z.mul_(2), lambda y, z: y.data.zero_(), lambda y, z: y[3:].detach().sin_()):
                for run in (block, lambda y: torch.exp(y).mul_(2), lambda y: y.mul_(2), lambda y: torch.sin(y[3:]).exp()):
                    x, losses = leaf(), []
                    y = torch.sin(torch.sin(x) * 2)

                    def forward():
                        z = checkpoint(run, y)
                        change(y, z)
                        losses.append(torch.sin(torch.sin(z)).sum())

                    see(refused(forward))
                    del y
                    crowd()
                    see(*[refused(loss.backward) for loss in losses], x.grad)

        both(test)

    @holds()
    def test_hooks_of_saved_tensors_in_and_around_checkpoints(self, see):
        def test(checkpoint):
            for hooks in (lambda: saved_tensors_hooks(double, same), save_on_cpu, lambda: saved_tensors_hooks(fail, same),
                          lambda: saved_tensors_hooks(same, fail)):
                def within(x):
                    with hooks():
                        return torch.exp(torch.sin(x))

                def around(x):
                    with hooks():
                        return checkpoint(lambda x: torch.exp(torch.sin(x)), x)

                for run in (lambda x: checkpoint(within, x), around, lambda x: checkpoint(around, x)):
                    x, losses = leaf(), [torch.sin(torch.sin(leaf(2)))]
                    see(refused(lambda: losses.append(torch.sin(torch.sin(run(torch.sin(x)))))))
                    crowd()
                    see(*[refused(loss.sum().backward) for loss in losses], x.grad)

        both(test)

    @holds(enters=True)
    def test_checkpoints_that_outlive_their_step(self, see, within):
        def test(checkpoint):
            x = leaf()
            with within():
                loss = torch.sin(checkpoint(block, torch.sin(x))).sum()
                crowd()
            loss.backward(retain_graph=True)
            loss.backward()
            see(x.grad)

        both(test)

    @holds()
    def test_parts_of_a_sequence(self, see):
        torch.manual_seed(1)
        model = torch.nn.Sequential(*[each for _ in range(3) for each in (torch.nn.Linear(256, 256), torch.nn.Tanh(), torch.nn.Dropout(0.1))])
        for more in ({"use_reentrant": True}, {"use_reentrant": False}) if PYTORCH_2 else ({},):
            x = leaf()
            y = checkpoints.checkpoint_sequential(model, 3, torch.sin(x), **more)
            loss = torch.sin(torch.sin(y)).sum()
            del y
            crowd()
            loss.backward()
            see(x.grad, *[each.grad for each in model.parameters()])

    @holds(needs=PYTORCH_2)
    def test_what_is_saved_by_choice(self, see):
        policies, ops = getattr(checkpoints, "CheckpointPolicy", None), torch.ops.aten
        kept = [ops.sin.default, ops.mm.default, ops.max.dim]

        def alternate(context, op, *_, **__):
            context.is_recompute and see(str(op))
            return policies.MUST_SAVE if op in kept and len(str(op)) % 2 else policies.PREFER_RECOMPUTE

        def changing(x):
            y = torch.sin(x)
            y.mul_(2)
            return torch.exp(y @ torch.sin(y))

        runs = (lambda x: torch.exp(torch.sin(x) @ torch.cos(x)) * x, lambda x: torch.sin(x.max(1)[0].exp() * x), changing,
                lambda x: torch.sin(x.view(-1)).view(256, 256).t() @ x)
        for run in runs:
            for policy, more in ((kept, {}), (alternate, {}), (kept, {"allow_cache_entry_mutation": True}), (3, {}),
                                 (lambda *_, **__: policies.MUST_RECOMPUTE, {}), (lambda *_, **__: policies.MUST_SAVE, {})):
                x, losses = leaf(1, (256, 256)), []
                y = torch.sin(torch.sin(x))
                see(refused(lambda: losses.append(checkpoints.checkpoint(run, y, use_reentrant=False, context_fn=lambda: (
                    checkpoints.create_selective_checkpoint_contexts(policy, **more))))))
                del y
                crowd()
                for loss in losses:
                    see(refused(lambda: torch.sin(loss).sum().backward(retain_graph=True)), x.grad, refused(loss.sum().backward), x.grad)

    @holds(leaves=False)
    def test_graphs_with_checkpoints_die(self, see):
        def test(checkpoint):
            for passes in range(2):
                y = checkpoint(lambda x: checkpoint(block, torch.sin(x)), torch.sin(leaf()))
                alive = set()
                y.grad_fn.metadata["alive"], there = alive, weakref.ref(alive)
                if passes:
                    y.sum().backward()
                del y, alive
                gc.collect()
                see(there() is None)

        both(test)
