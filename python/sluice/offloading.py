"""``with sluice.offload(fast="1GiB", to="/fast/disk"):`` around the steps of any eager PyTorch model.

Autograd saves tensors in the forward pass and asks for them in the backward pass, mostly in the opposite order. They leave
for a file in the background, and come back before they are asked for. Nothing of the model is captured, and the values
are those that plain PyTorch would have, so gradients keep their bits (core/saved_tensor.hpp, core/saved_storage.hpp).

PyTorch's memory comes from a pool of ours, so what all tensors take is known at every moment. A step of a kind that was not
seen before reacts: what was saved first leaves when the budget is full. It is remembered as a path (paths.py), and a
step that takes the same path follows a plan. Where a step leaves its path it goes on by another one that began the same
way, or reacts. What was there when a step began is none of its business: parameters, buffers, a batch, a data set.

Threads: hooks of one step may run in several threads; they take turns.
"""

from __future__ import annotations

import os
import sys
import threading
from array import array
from collections import OrderedDict
from typing import Callable, Sequence

from sluice.asking import by_function
from sluice.leaf_hooks import keep_hooks
from sluice.memory import pool
from sluice.moving import Mover
from sluice.offload_report import OffloadReport
from sluice.paths import KnownPath, KnownPaths, Path, Saved
from sluice.sizes import parse_share, parse_size

UNLIMITED = 1 << 62
KEPT_BUDGETS = 8  # of a thread


class Offload:
    """A budget for the tensors of a step; enter it around each step. See :func:`offload`."""

    def __init__(self, fast: str | int, to: str, file: str | int | None = None):
        import torch  # only who offloads needs it

        self._torch, self._memory = torch, pool()
        share = parse_share(fast)
        self._budget: int | None = None
        self._between = 0  # bytes of holes between tensors: a guess, then the most so far
        if share is None:
            self._set_budget(parse_size(fast))
        # A budget from what a step did, where one was not foreseen.
        self.choose: Callable[[Path], int] | None = None
        # Told at each event what the step takes from then on, event by event, and which of them it is; None where that is unknown.
        self.watch: Callable[[Sequence[int] | None, int], None] | None = None
        if share is not None:
            self.choose = lambda path: max(1, int(share * path.peak())) if self._budget is None else self._budget
        if not os.path.isdir(to):
            raise FileNotFoundError(f"{to}: no such folder, and saved tensors are to go there")
        self._folder = to
        self._file_bytes = None if file is None else parse_size(file)
        self._most_growth = 0  # bytes that computing took for a while between two events of any step
        self._paths = KnownPaths()
        self._expected: KnownPath | None = None
        self.last = OffloadReport()
        self._forget_all()

    def _forget_all(self) -> None:
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._hooks = None
        self._known: dict[int, object] = {}  # storages, by their numbers
        self._mover = Mover(self._folder, self._file_bytes, self._room)

    # -- steps

    def __enter__(self) -> Offload:
        if self._process != os.getpid():
            self._forget_all()  # it is the parent's: its lanes do not run here
        if self._hooks is not None:
            raise RuntimeError("sluice.offload: this budget is in use already; steps do not nest")
        self._begin()
        pack, unpack = self._memory.pack(self._pack), self._memory.unpack(self._unpack)
        hooks = self._torch.autograd.graph.saved_tensors_hooks(pack, unpack)
        hooks.__enter__()
        self._hooks = hooks
        self._memory.begin_step()
        return self

    def __exit__(self, *exception) -> None:
        if sys.is_finalizing():  # a generator's step: modules that would end it may be gone
            return
        hooks, self._hooks = self._hooks, None
        try:
            hooks.__exit__(*exception)
        finally:
            self._memory.end_step()
        with self._lock:
            self._end(failed=exception[0] is not None)

    def keep_at_most(self, nbytes: int) -> None:
        """Of memory of this step, for later tensors: what is beyond goes back to the system. Until the next step."""
        self._memory.set_limit(min(UNLIMITED, self._held + nbytes))

    @property
    def needed(self) -> int:
        """Bytes that the step's tensors take, with as much more as computing takes for a while."""
        return self._memory.used() - self._fixed + self._growth

    @property
    def holes(self) -> int:
        """Bytes between tensors, at the most."""
        return self._between

    def _begin(self) -> None:
        self._report = OffloadReport(budget=self._budget)
        self._mover.begin(self._report, self._budget)
        self._since = self._memory.takes()
        kept = self._mover.in_memory()
        self._fixed, self._held = self._memory.used() - kept, self._memory.held() - kept
        self._limit = UNLIMITED if self._budget is None else self._budget
        self.keep_at_most(self._limit)
        self._path = Path()
        self._made: dict[int, object] = {}  # storages, by their numbers in the step
        self._growth = self._most_growth or (self._budget or 0) // 2  # a guess, then the most so far
        self._resident = 0
        self._next_bring = 0
        self._memory.begin_peaks()
        self._event("begin", None)

    def _end(self, failed: bool) -> None:
        self._close_interval()
        path, report = self._path, self._report
        report.as_planned = self._expected is not None and self._expected.prefixes == path.prefixes
        report.saved = sum(each.nbytes for each in path.saved)
        report.peak = max(path.most)
        self._most_growth = max(self._most_growth, max(map(path.growth, range(len(path.used)))))
        over = self._resident - max(self._budget or 0, report.peak)  # holes that no tensor fitted into
        if self._budget is not None and over > 0:
            self._between += over
            report.peak = self._resident
        self._mover.end()
        self.last = report
        for number, storage in self._made.items():
            path.saved[number].outlived = storage.outlived
        if self.choose is not None and not failed and not report.as_planned and path.saved:
            self._set_budget(self.choose(path))
        if not failed and self._budget is not None:
            self._remember(path)
        self._known = {number: each for number, each in self._known.items() if not each.released}

    def _remember(self, path: Path) -> None:
        if self._report.as_planned and self._report.peak <= self._budget:
            self._expected.mosts = array("q", path.most)
            self._paths.remember(self._expected)
        else:
            self._expected = self._paths.remember(KnownPath(path, path.plan(self._budget - self._between)))

    def _set_budget(self, budget: int) -> None:
        if budget != self._budget:
            self._budget, self._between = budget, budget // 16

    # -- events

    def _event(self, kind: str, storage) -> None:
        path = self._path
        if path.used:
            self._close_interval()
        what = (kind,) if storage is None else (kind, storage.number, storage.nbytes)
        number = path.happen(what, self._memory.used() - self._fixed, self._mover.absent.bytes)
        expected = self._expected
        if expected is not None and (
            number >= len(expected.prefixes) or expected.prefixes[number] != path.prefixes[number]
        ):
            self._expected = self._paths.beginning(path.prefixes[number])
            self._next_bring = 0
        if self.watch is not None:
            self.watch(None if self._expected is None else self._expected.mosts, number)

    def _close_interval(self) -> None:
        path = self._path
        used, resident = self._memory.peaks()
        path.most[-1] = max(path.most[-1], used - self._fixed)
        self._growth = max(self._growth, path.growth(-1))
        self._resident = max(self._resident, resident - self._held)
        self._memory.begin_peaks()

    def _room(self) -> int:
        """Bytes that may be taken now, if the computation up to the next event is to have what it takes."""
        expected, now = self._expected, len(self._path.used) - 1
        growth = self._growth if expected is None else expected.growth(now)
        taken = max(self._memory.used() - self._fixed, self._memory.held() - self._held)
        return self._limit - self._between - growth - taken

    # -- hooks

    def _pack(self, tensor):
        movable = self._memory.movable(tensor, self._since)
        if movable is None:
            return self._memory.SavedTensor(tensor)
        with self._lock:
            storage = self._storage_of(tensor, *movable)
            if storage is None:
                return self._memory.SavedTensor(tensor)
            saved = storage.save(tensor)
            self._event("save", storage)
            if self._expected is not None and storage.number in self._expected.plan.leaves:
                self._mover.leave_soon(storage)
            self._mover.make_room()
            return saved

    def _storage_of(self, tensor, number: int, fresh: bool):
        known = self._known.get(number)
        if known is not None and not known.released:
            return known
        if not fresh:
            return None
        of_step = len(self._path.saved)
        storage = self._memory.SavedStorage(tensor, self._mover.absent, of_step)
        self._path.saved.append(Saved(storage.nbytes, len(self._path.used)))
        self._known[number] = self._made[of_step] = storage
        self._mover.add(storage)
        return storage

    def _unpack(self, packed):
        tensor = self._unpacked(packed)
        if tensor.is_leaf:
            keep_hooks(tensor)
        return tensor

    def _unpacked(self, packed):
        storage = packed.storage
        if storage is None:
            return packed.unpack(by_function)
        if self._process != os.getpid():
            raise RuntimeError("a tensor was saved in another process, and gradients need it in this one")
        with self._lock:
            if storage.number is not None:
                saved = self._path.saved[storage.number]
                saved.asked = len(self._path.used) if saved.asked is None else saved.asked
            self._event("ask", storage)
            self._report.waited_for += storage.fetch()
            tensor = packed.unpack(by_function)
            self._mover.make_room()
            self._mover.bring(self._coming_next())
            return tensor

    def _coming_next(self):
        """Who is away and may come back now, in the order in which they are asked for."""
        now = len(self._path.used) - 1
        if self._expected is None:  # what was saved last is asked for next
            yield from self._mover.away_last_first()
            return
        brings = self._expected.plan.brings
        while self._next_bring < len(brings) and brings[self._next_bring][1] <= now:
            storage = self._made.get(brings[self._next_bring][0])
            if storage is not None:
                if storage.away:
                    yield storage
                if storage.leaving:
                    return
                self._mover.stay(storage)
            self._next_bring += 1


class _Budgets(threading.local):
    """Of each thread, the last ones it used."""

    def __init__(self):
        self.by_words: OrderedDict[tuple, Offload] = OrderedDict()


_budgets = _Budgets()


def offload(fast: str | int, to: str, file: str | int | None = None) -> Offload:
    """A budget for the tensors that a step makes, to enter around each step.

    Args:
        fast: bytes that tensors may take beyond what was there when the step began ("1GiB"), or a share ("40%") of
            what the first step took.
        to: a folder on a fast disk.
        file: how large the file there may be; eight times the budget by default.

    The same arguments give the same object, so the call may stand inside the loop::

        for x, y in batches:
            with sluice.offload(fast="1GiB", to="/fast/disk"):
                loss = criterion(model(x), y)
                loss.backward()
            optimizer.step()

    What was there when the step began (parameters, a batch) is not counted, nor moved. Gradients keep their bits. Of many
    budgets each thread keeps the last eight; one that comes again later begins anew.
    """
    known = _budgets.by_words
    words = (fast, os.path.abspath(to), file)
    budget = known.pop(words, None) or Offload(fast, to, file)
    known[words] = budget
    while len(known) > KEPT_BUDGETS:
        known.popitem(last=False)
    return budget
