"""Properties of checkpoints that PyTorch's own tests name: the same plainly and while tensors leave."""

import functools
import gc
import unittest
import weakref

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import torch.utils.checkpoint as checkpoints
from torch.autograd import grad
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks

from beside_plain import SIZE, numbers
from test_saved_tensor_properties import (
    PART, PYTORCH_2, Properties, crowd, double, fail, finish, function, holds, leaf, passes, refused, same, saving)


def both(step):
    """The step with checkpoints of both kinds."""
    @functools.wraps(step)
    def steps(self, see, *within):
        for reentrant in (True, False):
            step(self, see, functools.partial(checkpoints.checkpoint, use_reentrant=reentrant), *within)
    return steps


def block(x):
    return torch.sin(torch.exp(torch.sin(x)) * x)


def counted(calls, run):
    return lambda x: (calls.append(0), run(x))[1]


class Checkpoints(Properties):
    @holds()
    @both
    def test_gradients_through_checkpoints(self, see, checkpoint):
        for x in (leaf(), numbers(1, *SIZE)):
            w = leaf(2)
            loss = torch.sin(checkpoint(block, torch.exp(checkpoint(lambda x: block(x) * w, torch.sin(x))))).sum()
            finish(see, loss, x, w)
            see(refused(loss.backward))

    @holds()
    @both
    def test_gradients_that_are_not_accumulated_and_those_of_gradients(self, see, checkpoint):
        x = leaf()
        for more in ({}, {"create_graph": True}, {"retain_graph": True}):
            first, loss = [], torch.sin(checkpoint(block, torch.sin(checkpoint(block, x)))).sum()
            crowd()
            see(refused(lambda: first.extend(grad(loss, x, **more))), *first)
            see(*[refused(lambda each=each: see(*grad(each.sum(), x))) for each in first])
        finish(see, torch.sin(checkpoint(block, x)).sum(), x)

    @holds()
    @both
    def test_second_passes_through_checkpoints(self, see, checkpoint):
        calls, x = [], leaf()
        passes(see, torch.sin(checkpoint(counted(calls, block), torch.sin(x))).sum(), True, True, False, False)
        see(x.grad, len(calls))

    @holds()
    @both
    def test_arguments_and_results_of_all_kinds(self, see, checkpoint):
        def run(number, values, x, call=torch.exp, blah=None):
            see(number, sorted(values), blah)
            return {"y": call(torch.sin(x) * values["w"]) * number}, 1, "two", torch.sin(x) * 2, x.argmax(1)

        for more in ({}, {"blah": 3}):
            x, w, results = leaf(), leaf(2), []
            see(refused(lambda: results.extend(checkpoint(run, 3, {"w": torch.sin(w)}, torch.sin(x), torch.cos, **more))))
            if results:
                see(*results[1:3], results[4], results[4].requires_grad)
                finish(see, (torch.sin(results[0].pop("y")) * torch.sin(results.pop(3))).sum(), x, w)

    @holds()
    @both
    def test_results_without_history(self, see, checkpoint):
        def without_history(x):
            with torch.no_grad():
                return (block(x),)

        for run in (without_history, lambda x: (block(x), x.detach()), lambda x: block(x).detach()[None], lambda x: x[None]):
            x = leaf()
            finish(see, (torch.exp(torch.sin(torch.sin(checkpoint(run, torch.sin(x))[0]))) * torch.sin(x)).sum(), x)

    @holds()
    @both
    def test_a_parameter_inside_and_outside_has_its_hook_called_once(self, see, checkpoint):
        w, x, calls = leaf(), leaf(2), []
        w.register_hook(lambda gradient: calls.append(0))
        finish(see, checkpoint(lambda x: torch.sin(w * x), torch.sin(w * x)).sum(), x, w)
        see(len(calls))

    @holds()
    @both
    def test_types_and_random_numbers_are_as_they_were(self, see, checkpoint):
        def run(x):
            y = torch.dropout(x @ x.t(), 0.3, True)
            see(y)
            return torch.sin(y)

        for enabled in (False, True):
            for more in ({}, {"preserve_rng_state": False}):
                x = leaf(1, (256, 256))
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
                    loss = torch.sin(checkpoint(run, torch.sin(x), **more).float()).sum()
                finish(see, loss, x)
                see(torch.rand(1))

    @holds()
    @both
    def test_functions_within_checkpoints(self, see, checkpoint):
        def backward(ctx, gradient):
            x, y = ctx.saved_tensors
            see(x, y, refused(lambda: see(*ctx.saved_tensors)))
            return gradient * y

        x = leaf()
        own = function(lambda ctx, x: saving(ctx, torch.exp(x), x, torch.exp(x)), backward)
        finish(see, torch.sin(torch.sin(checkpoint(lambda x: own(torch.sin(x)), x * 2))).sum(), x)

    @holds(needs=PYTORCH_2)
    def test_what_is_asked_for_outside_of_a_backward_pass_is_computed_each_time(self, see):
        calls, x = [], leaf()
        left = torch.sin(torch.sin(x))
        y = checkpoints.checkpoint(counted(calls, lambda x: torch.exp(torch.sin(x))), x, use_reentrant=False)
        crowd()
        see(y.grad_fn._saved_result, y.grad_fn._saved_result, len(calls))
        (y * left).sum().backward()
        see(x.grad, len(calls), refused(lambda: y.grad_fn._saved_result))

    @holds()
    @both
    def test_runs_that_differ_from_the_first(self, see, checkpoint):
        def first_then(*runs):
            rest = list(runs)
            return lambda x: rest.pop(0)(x)

        shorter, other = (lambda x: torch.sin(torch.exp(x))), (lambda x: torch.sin(torch.exp(x[:, :128])).repeat(1, 2))
        settings = [{}] + ([{"debug": True}, {"determinism_check": "none"}] if PYTORCH_2 else [])
        for runs in ((block, shorter), (shorter, block), (block, other), (block, fail), (fail, fail)):
            for more in settings:
                x, losses = leaf(), []
                see(refused(lambda: losses.append(checkpoint(first_then(*runs), x * 2, **more) * torch.sin(torch.sin(x))))[:20])
                crowd()
                see(*[refused(losses.pop().sum().backward)[:20] for _ in losses[:]], x.grad)

    @holds(needs=PYTORCH_2)
    def test_a_run_stops_where_all_is_there(self, see):
        for early in (True, False):
            calls, x = [], leaf()
            with checkpoints.set_checkpoint_early_stop(early):
                y = checkpoints.checkpoint(lambda x: counted(calls, torch.clone)(block(x)), torch.sin(x), use_reentrant=False)
            loss = torch.sin(torch.sin(y)).sum()
            del y
            finish(see, loss, x)
            see(len(calls))

    @holds()
    @both
    def test_checkpoints_within_checkpoints_and_gradients_of_any_order(self, see, checkpoint):
        def g(run):
            def of(x):
                with torch.enable_grad():
                    return grad(run(x).sum(), x, create_graph=True)[0]
            return of

        def c(run):
            return lambda x: checkpoint(run, x)

        def two(x):
            return c(torch.exp)(c(block)(x))

        for run in (c(c(block)), c(two), g(c(c(block))), c(g(c(block))), g(c(g(c(two)))), c(g(g(c(two)))), g(c(g(c(g(c(two))))))):
            x = leaf(1, PART)
            y = torch.sin(torch.sin(x))
            crowd()
            see(refused(lambda: see(run(y))), refused(lambda: torch.sin(run(y)).sum().backward()), x.grad)

    @holds()
    @both
    def test_hooks_of_nodes_of_checkpoints(self, see, checkpoint):
        x = leaf()
        y, z = checkpoint(lambda x: (torch.sin(x), torch.exp(torch.sin(torch.sin(x)))), torch.sin(x))
        z.grad_fn.register_hook(lambda *_: see(refused(lambda: torch.sin(y).sum().backward(retain_graph=True))))
        z.grad_fn.next_functions[0][0].register_hook(lambda *gradients: see(*gradients[0]))
        left = torch.sin(torch.sin(z))
        crowd()
        see(refused(lambda: left.sum().backward(retain_graph=True)), x.grad)

    # Not what was detached in place: PyTorch keeps any hook from saying so to a checkpoint.
    @holds()
    @both
    def test_changes_of_what_checkpoints_take_and_give(self, see, checkpoint):
        def changed(y, change):
            z = checkpoint(run, y)
            change(y, z)
            return torch.sin(torch.sin(z)).sum()

        for change in (lambda y, z: y.mul_(2), lambda y, z: z.mul_(2), lambda y, z: y.data.zero_(), lambda y, z: y[3].zero_()):
            for run in (block, lambda y: torch.exp(y).mul_(2), lambda y: y.mul_(2), lambda y: torch.sin(y[3:]).exp()):
                x, losses = leaf(), []
                see(refused(lambda: losses.append(changed(torch.sin(torch.sin(x) * 2), change))))
                crowd()
                see(*[refused(loss.backward) for loss in losses], x.grad)

    @holds()
    @both
    def test_hooks_of_saved_tensors_in_and_around_checkpoints(self, see, checkpoint):
        def within(run):
            def hooked(x):
                with hooks():
                    return run(x)
            return hooked

        def two(x):
            return torch.exp(torch.sin(x))

        def c(run):
            return lambda x: checkpoint(run, x)

        for hooks in (lambda: saved_tensors_hooks(double, same), save_on_cpu, lambda: saved_tensors_hooks(fail, same),
                      lambda: saved_tensors_hooks(same, fail)):
            for run in (c(within(two)), within(c(two)), c(within(c(two)))):
                x, losses = leaf(), [torch.sin(torch.sin(leaf(2)))]
                see(refused(lambda: losses.append(torch.sin(torch.sin(run(torch.sin(x)))))))
                crowd()
                see(*[refused(loss.sum().backward) for loss in losses], x.grad)

    @holds(enters=True)
    @both
    def test_checkpoints_that_outlive_their_step(self, see, checkpoint, within):
        x = leaf()
        with within():
            loss = torch.sin(checkpoint(block, torch.sin(x))).sum()
            crowd()
        loss.backward(retain_graph=True)
        finish(see, loss, x)

    @holds()
    def test_parts_of_a_sequence(self, see):
        torch.manual_seed(1)
        layers = [(torch.nn.Linear(256, 256), torch.nn.Tanh(), torch.nn.Dropout(0.1)) for _ in range(3)]
        model = torch.nn.Sequential(*[each for three in layers for each in three])
        for more in ({"use_reentrant": True}, {"use_reentrant": False}) if PYTORCH_2 else ({},):
            x = leaf()
            y = checkpoints.checkpoint_sequential(model, 3, torch.sin(x), **more)
            finish(see, torch.sin(torch.sin(y)).sum(), x, *model.parameters())

    @holds(needs=PYTORCH_2)
    def test_what_is_saved_by_choice(self, see):
        kinds, ops = checkpoints.CheckpointPolicy, torch.ops.aten
        kept = [ops.sin.default, ops.mm.default, ops.max.dim]

        def alternate(context, op, *_, **__):
            if context.is_recompute:
                see(str(op))
            return kinds.MUST_SAVE if op is kept[0] else kinds.PREFER_RECOMPUTE

        def changing(x):
            y = torch.sin(x)
            y.mul_(2)
            return torch.exp(y @ torch.sin(y))

        for run in (lambda x: torch.exp(torch.sin(x) @ torch.cos(x)) * x, lambda x: torch.sin(x.max(1)[0].exp() * x), changing):
            for policy, more in ((kept, {}), (alternate, {}), (kept, {"allow_cache_entry_mutation": True}), (3, {}),
                                 (lambda *_, **__: kinds.MUST_RECOMPUTE, {}), (lambda *_, **__: kinds.MUST_SAVE, {})):
                x, losses = leaf(1, (256, 256)), []
                see(refused(lambda: losses.append(checkpoints.checkpoint(
                    run, torch.sin(torch.sin(x)), use_reentrant=False,
                    context_fn=lambda: checkpoints.create_selective_checkpoint_contexts(policy, **more)))))
                while losses:
                    passes(see, torch.sin(losses.pop()).sum(), True, False)
                see(x.grad)

    @holds(leaves=False)
    @both
    def test_graphs_with_checkpoints_die(self, see, checkpoint):
        for computes in (False, True):
            y, alive = checkpoint(lambda x: checkpoint(block, torch.sin(x)), leaf()), set()
            y.grad_fn.metadata["alive"], there = alive, weakref.ref(alive)
            if computes:
                y.sum().backward()
            del y, alive
            gc.collect()
            see(there() is None)
