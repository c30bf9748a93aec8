"""An exception between any two lines of an offloaded optimizer's step: the step is complete, or has not begun."""

import os
import signal
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

import sluice


class Interruption(BaseException):
    pass


def interrupted(run, line):
    """Runs it, with an exception before the line of that number. Whether there was one."""
    count = 0

    def trace(_frame, event, _argument):
        nonlocal count
        if event == "line":
            count += 1
            if count == line:
                raise Interruption
        return trace

    sys.settrace(trace)
    try:
        run()
    except Interruption:
        return True
    finally:
        sys.settrace(None)
    return count >= line


class Twin:
    def __init__(self, make, wrap=lambda optimizer: optimizer):
        torch.manual_seed(0)
        self.parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in ((1024, 64), (3,), (200, 100))]
        self.optimizer = wrap(make(self.parameters))

    def backward(self, step):
        self.optimizer.zero_grad(set_to_none=step % 2 == 0)
        generator = torch.Generator().manual_seed(step)
        sum((each * torch.randn(each.shape, generator=generator)).square().sum() for each in self.parameters).backward()

    def values(self, parameters=None):
        states = [self.optimizer.state[each] for each in parameters or self.parameters]
        return [each.detach().clone() for each in parameters or self.parameters] + [
            torch.as_tensor(value).clone() for state in states for _, value in sorted(state.items())]


def same(one, other):
    return len(one) == len(other) and all(torch.equal(each, its) for each, its in zip(one, other))


@unittest.skipIf(torch is None, "PyTorch is not installed")
class InterruptedTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self.addCleanup(torch.set_num_threads, threads)

    def twins(self, make, **more):
        return Twin(make), Twin(make, lambda optimizer: sluice.offload_optimizer(optimizer, to=self.folder.name, **more))

    def stride(self):
        return 1 if os.environ.get("SLUICE_TEST_SET") == "all" else 23

    def at_every_line(self, make, look, **more):
        """Each step of one training is interrupted a little later than the one before it."""
        plain, ours = self.twins(make, window="512KiB", **more)  # the first weight in two parts
        step, line = 0, 1
        while True:
            plain.backward(step)
            ours.backward(step)
            before = plain.values()
            plain.optimizer.step()
            if not interrupted(ours.optimizer.step, line):
                return line
            if look:
                now = ours.values()
                self.assertTrue(same(now, before) or same(now, plain.values()), f"line {line}")
            ours.optimizer.step()  # what was complete stays as it is
            self.assertTrue(same(ours.values() if look else ours.parameters, plain.values() if look else plain.parameters), f"line {line}")
            step, line = step + 1, line + self.stride()

    def test_at_every_line(self):
        for name, make in {"Adam": lambda p: torch.optim.Adam(p, lr=1e-3, amsgrad=True),
                           "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1, foreach=True)}.items():
            for look in (False, True):
                with self.subTest(name, look=look):
                    self.assertGreater(self.at_every_line(make, look), 100)

    def test_in_the_backward_pass(self):
        """There an exception ends the backward pass: each parameter is as before the step or as behind it."""
        def make(parameters):
            return torch.optim.AdamW(parameters, lr=1e-3)

        line = 1
        while True:
            plain, ours = self.twins(make, window="512KiB", during_backward=True)
            for step in range(2):
                plain.backward(step)
                plain.optimizer.step()
                ours.backward(step)
                ours.optimizer.step()
            before = [plain.values([each]) for each in plain.parameters]
            plain.backward(2)
            plain.optimizer.step()
            was = interrupted(lambda: ours.backward(2), line)
            for number, each in enumerate(ours.parameters):
                now = ours.values([each])
                self.assertTrue(same(now, before[number]) or same(now, plain.values([plain.parameters[number]])), f"line {line}")
            ours.backward(3)
            ours.optimizer.step()
            if not was:
                break
            line += 4 * self.stride()
        self.assertGreater(line, 100)

    def test_signals_at_random(self):
        plain, ours = self.twins(lambda p: torch.optim.AdamW(p, lr=1e-3), window="512KiB")

        def interrupt(*_):
            raise Interruption

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        for step in range(60):
            plain.backward(step)
            plain.optimizer.step()
            ours.backward(step)
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 * (1 + step))
                ours.optimizer.step()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interruption:
                signal.setitimer(signal.ITIMER_REAL, 0)
                if not same(ours.parameters, plain.parameters):  # else the signal came when step() had returned
                    ours.optimizer.step()
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.assertTrue(same(ours.parameters, plain.parameters), f"step {step}")
        self.assertTrue(same(ours.values(), plain.values()))

    def test_an_error_that_stays(self):
        """The step cannot be completed; nothing is updated twice when it can."""
        plain, ours = self.twins(lambda p: torch.optim.Adam(p, lr=1e-3), window="512KiB")
        for step in range(3):
            for each in (plain, ours):
                each.backward(step)
            plain.optimizer.step()
            if step == 1:
                gradient = ours.parameters[2].grad
                ours.parameters[2].grad = torch.ones(200, 100).to_sparse()
                with self.assertRaisesRegex(RuntimeError, "sparse"):
                    ours.optimizer.step()
                ours.parameters[2].grad = gradient
            ours.optimizer.step()
            self.assertTrue(same(ours.values(), plain.values()))


    def test_a_disk_without_room(self):
        """What cannot leave stays; the step is complete, and says why."""
        import resource

        plain, ours = self.twins(lambda p: torch.optim.Adam(p, lr=1e-3), window="512KiB")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
        for step in range(3):
            for each in (plain, ours):
                each.backward(step)
            plain.optimizer.step()
            if step == 0:
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
                with self.assertRaisesRegex(sluice.SluiceError, "no room"):
                    ours.optimizer.step()
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            else:
                ours.optimizer.step()
            self.assertTrue(same(ours.values(), plain.values()))
