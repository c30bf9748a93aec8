"""A contestant that swaps, and what has to be undone in the end."""

import contextlib
import ctypes
import signal

from contestants import Contestant, Lost, TooSlow
from swap_file import swap_traffic

LIBC = ctypes.CDLL(None)
PR_SET_THP_DISABLE = 41  # <linux/prctl.h>


@contextlib.contextmanager
def cleaned_up():
    """A stack of callbacks that run in the end, whatever ends it; a signal meanwhile waits until they have run."""
    stack = contextlib.ExitStack()
    try:
        yield stack
    finally:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        try:
            stack.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def made(stack, thing):
    stack.callback(thing.remove)
    thing.make()
    return thing


def started(stack, *args, **more):
    contestant = Contestant(*args, **more)
    stack.callback(contestant.end)
    return contestant


class Swapped:
    """A contestant that swaps: has only so much time, and may not get far in it."""

    def __init__(self, name, options, group):
        self.name = name
        self.options = options
        self.group = group
        self.contestant = None
        self.taken = 0.0
        self.ended = None  # why it takes no further steps, when it had to be ended or died
        self.traffic = []

    def start(self, stack, setup, before_exec):
        with self.noting_end():
            self.contestant = started(stack, self.name, [self.options.sluice, "worker"], setup, before_exec,
                                      self.options.patience)

    def step(self, index, counted):
        if self.ended or self.taken > self.options.limit:
            return
        before = swap_traffic()
        with self.noting_end():
            self.taken += self.contestant.step(index, counted, self.options.patience)["step_seconds"]
            if counted:
                self.traffic.append({name: count - before[name] for name, count in swap_traffic().items()})

    def finish(self):
        with self.noting_end():
            return None if self.ended else self.contestant.finish(self.options.patience)
        return None

    @contextlib.contextmanager
    def noting_end(self):
        try:
            yield
        except TooSlow:
            self.ended = f"> {self.options.patience:.0f} s"
        except Lost as loss:
            self.ended = loss.reason


def without_huge_pages():
    """For the calling process and what it executes."""
    LIBC.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
