"""sluice.offload keeps what autograd promises: plain PyTorch's bits, or its error, whatever is saved and whoever changes it."""

import gc
import os
import random
import subprocess
import sys
import tempfile
import threading
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import autograd_fuzz
import long_run
import sluice
from beside_plain import SIZE, BesidePlain, numbers
from program_parts import Exponential, Swish
from sluice.memory import pool


class ContractTest(BesidePlain):
    def test_a_generator_in_mid_step_when_the_interpreter_ends(self):
        script = ("import sys, torch, sluice\n"
                  "def steps():\n"
                  "    with sluice.Offload('1MiB', sys.argv[1]):\n"
                  "        yield torch.sin(torch.ones(512, 512, requires_grad=True))\n"
                  "running = steps()\n"
                  "y = next(running)\n")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", script, self.folder.name], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")

    def test_hooks_of_leaves_that_functions_save(self):
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, gradient):
                return 2 * ctx.saved_tensors[0] * gradient

        def step():
            x = numbers(1, *SIZE).requires_grad_()
            x.register_hook(lambda gradient: gradient * 0.5)
            loss = Square.apply(x).sum()
            x.register_hook(lambda gradient: gradient + 1)
            first = torch.autograd.grad(loss, x, create_graph=True)[0]
            (first.square().sum() + (x * 3).sum()).backward()
            return [first, x.grad]

        self.assert_plain(step)

    def test_conjugate_and_negative_views_keep_their_bits(self):
        def step():
            x = numbers(1, *SIZE, dtype=torch.complex64).requires_grad_()
            z = x * (1 + 2j)
            loss = (z.conj() * (x * 3)).sum().real + (z.conj().imag * z.real).sum() + (z.mH @ z).imag.square().sum()
            loss.backward()
            return [loss, x.grad]

        self.assert_plain(step)

    def test_sparse_tensors_stay(self):
        where = torch.randint(512, (2, 20000), generator=torch.Generator().manual_seed(1))
        matrix = torch.sparse_coo_tensor(where, numbers(2, 20000), (512, 512)).coalesce()
        for each in (matrix, matrix.to_sparse_csr()):
            def step():
                x = numbers(3, *SIZE).requires_grad_()
                loss = (each @ torch.sin(x)).square().sum()
                loss.backward()
                return [loss, x.grad]

            self.assert_plain(step)

    def test_parts_of_a_storage_with_counts_of_changes_of_their_own(self):
        def step():  # as the gates of a recurrent cell
            x = numbers(1, *SIZE).requires_grad_()
            parts = (x * 1.5).unsafe_chunk(4, 1)
            result = parts[0].sigmoid_() * parts[1].tanh_() + parts[2].sigmoid_() * parts[3].tanh_()
            result.sum().backward()
            return [result, x.grad]

        self.assert_plain(step)

    def test_a_change_that_pytorch_does_not_see_gives_the_same_gradient(self):
        def change_data(y):
            y.data.mul_(3)

        def change_array(y):
            y.detach().numpy()[:] *= 3

        def give_other_data(y):
            y.data = y.data.clone() * 3

        for change in (change_data, change_array, give_other_data):
            with self.subTest(change=change.__name__):
                def step():
                    x = numbers(1, *SIZE).requires_grad_()
                    y = x * 2
                    z = y * y
                    for _ in range(4):  # others leave meanwhile
                        z = torch.sin(z)
                    change(y)
                    del y
                    z.sum().backward()
                    return [x.grad]

                self.assert_plain(step)

    def test_a_change_that_pytorch_sees_is_its_error(self):
        def through(change):
            def step():
                x = numbers(1, *SIZE).requires_grad_()
                y = x * 2
                z = y * y
                change(y)
                del y
                for _ in range(4):
                    z = torch.sin(z)
                z.sum().backward()
            return step

        self.assert_refused(through(lambda y: y.add_(1)))
        self.assert_refused(through(lambda y: y[3].mul_(2)))
        self.assert_refused(through(lambda y: y.detach().zero_()))
        self.assert_refused(through(lambda y: y.detach_()), "detached in place")

    def test_a_tensor_that_is_detached_in_place_behind_a_function_that_saved_it(self):
        def through(create_graph):
            def step():
                x = numbers(1, *SIZE).requires_grad_()
                y = x * 2
                z = Swish.apply(y, 0.5)
                y.detach_()
                del y
                for _ in range(4):
                    z = torch.sin(z)
                return torch.autograd.grad(z.sum(), x, create_graph=create_graph)
            return step

        self.assert_plain(through(create_graph=False))
        for budget in self.budgets():
            with self.assertRaisesRegex(RuntimeError, "gradients of gradients are not known"):
                with budget:
                    through(create_graph=True)()

    def test_the_result_of_an_op_whose_input_needs_its_history_anew_is_let_go(self):
        def step():
            x = numbers(1, *SIZE).requires_grad_()
            y = x * 2
            part, other = y[:, ::2], y[3]
            with torch.no_grad():
                other.sin_()
            torch.sqrt(part)  # saves its result; asks for the history of `part`, which PyTorch writes anew

        for budget in self.budgets():
            def run():
                with budget:
                    step()
            self.assertEqual(autograd_fuzz.remains(run), 0)

    def test_a_function_that_writes_into_what_it_saved(self):
        def step(times):
            x = numbers(1, *SIZE).requires_grad_()
            y = torch.cos(Swish.apply(torch.sin(x), 1.5)).sum()
            for left in range(times, 0, -1):
                y.backward(retain_graph=left > 1)
            return [x.grad]

        self.assert_plain(lambda: step(1))
        self.assert_refused(lambda: step(2))

    def test_a_graph_that_is_let_go_leaves_nothing(self):
        def step():
            x = numbers(1, *SIZE).requires_grad_()
            y = Exponential.apply(torch.exp(x).tanh().softmax(1))  # all save their outputs
            return (y.sigmoid()[:16].exp() * 2).sum()  # and small ones

        for budget in self.budgets():
            step()
            gc.collect()
            before = pool().used()
            with budget:
                step()
            self.assertEqual(pool().used(), before)

    def test_what_was_there_before_the_step_is_not_its_own(self):
        budget = sluice.Offload("3MiB", self.folder.name, file="64MiB")
        saved = []
        for fold in range(3):
            model = torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(256, 256), torch.nn.GELU())])
            if fold == 2:
                for each in model.parameters():
                    each.data = each.data.clone()
            x = numbers(fold, *SIZE)
            for _ in range(2):
                with budget:
                    model(x).sum().backward()
            saved.append(budget.last.saved)
            self.assertGreater(budget.last.left, 0)
            self.assertLessEqual(budget.last.peak, 3 << 20)
        self.assertEqual(saved, saved[:1] * 3)

    def test_many_budgets_cost_no_more_than_a_few(self):
        def step(fast):
            with sluice.offload(fast=fast, to=self.folder.name, file="16MiB"):
                x = numbers(1, *SIZE).requires_grad_()
                torch.sin(torch.sin(torch.sin(torch.sin(x * 2)))).sum().backward()

        def many():
            for number in range(12):
                step((1 << 20) + 4096 * number)

        step(1 << 20)
        before = long_run.taken(self.folder.name)
        many()
        for _ in range(6):
            thread = threading.Thread(target=many)
            thread.start()
            thread.join()
        after = long_run.taken(self.folder.name)
        self.assertLessEqual(after["descriptors"] - before["descriptors"], 5)
        self.assertLessEqual(after["threads"] - before["threads"], 2)
        self.assertLessEqual(after["disk KiB"], 2 * 16 << 10)

    def test_an_interruption_at_any_moment_leaves_a_budget_to_go_on_with(self):
        def step():
            x = numbers(1, *SIZE).requires_grad_()
            y = x
            for _ in range(6):
                y = torch.sin(y * 1.1)
            y.sum().backward()
            return x.grad

        plain, budget, stopped = step(), sluice.Offload("2MiB", self.folder.name, file="64MiB"), 0
        for moment in range(0, 2000, 13):
            stop = Interruption(moment)
            try:
                with budget:
                    with stop:
                        step()
            except KeyboardInterrupt:
                stopped += 1
            with budget:
                self.assertTrue(torch.equal(step(), plain), moment)
            if not stop.happened:
                break
        self.assertGreater(stopped, 10)
        gc.collect()
        self.assertTrue(budget._mover._store is None, "nothing is left in the file")

    def test_random_programs(self):
        first, found = random.randrange(1 << 30), []
        differ, counts = autograd_fuzz.fuzz(60, 6, first, self.folder.name, found.append)
        self.assertEqual(differ, 0, f"autograd_fuzz.py --first {first}\n" + "\n".join(found))
        self.assertGreater(counts["moved"], 0)

    def test_many_steps_leave_what_there_was(self):
        run = long_run.Run(1, self.folder.name)
        for _ in range(40):
            run.step()
        before = long_run.taken(self.folder.name)
        for _ in range(160):
            run.step()
        self.assertEqual(run.grown(before), {})


class Interruption:
    """A KeyboardInterrupt at the n-th line of Python of the package's that runs."""

    def __init__(self, lines: int):
        self.lines, self.happened = lines, False

    def trace(self, frame, event, _):
        if os.path.basename(os.path.dirname(frame.f_code.co_filename)) != "sluice":
            return None
        if event == "line" and not self.happened:
            self.lines -= 1
            if self.lines < 0:
                self.happened = True
                raise KeyboardInterrupt
        return self.trace

    def __enter__(self):
        sys.settrace(self.trace)

    def __exit__(self, *exception):
        sys.settrace(None)


if __name__ == "__main__":
    unittest.main()
