"""``with sluice.offload(fast="1GiB", to="/fast/disk"):`` around the steps of any eager PyTorch model.

Autograd saves tensors in the forward pass and asks for them in the backward pass, mostly in the opposite order. They leave
for a file in the background, and come back before they are asked for. Nothing of the model is captured, and the values
are those that were saved, so gradients keep their bits.

PyTorch's memory comes from a pool of ours, so what all tensors take is known at every moment. A step of a kind that was not
seen before reacts: what was saved first leaves when the budget is full. It is remembered as a path (paths.py), and a
step that takes the same path follows a plan. Where a step leaves its path it goes on by another one that began the same
way, or reacts.

Threads: hooks of one step may run in several threads; they take turns.
"""

from __future__ import annotations

import gc
import os
import shutil
import threading

from sluice.memory import pool, storage_of
from sluice.paths import Path, Plan, Saved
from sluice.saved_tensors import Handle, Kept, OffloadReport, SavedStorage
from sluice.sizes import parse_share, parse_size

SMALLEST_PART = 1 / 4  # of a storage; a view of less is one of a data set, perhaps, and stays
UNLIMITED = 1 << 62
CHANGED = "a tensor that is needed for gradients was changed in place after autograd had saved it"


class Offload:
    """A budget for the tensors of a step; enter it around each step. See :func:`offload`."""

    def __init__(self, fast: str | int, to: str, file: str | int | None = None):
        import torch  # only who offloads needs it
        from torch.multiprocessing.reductions import StorageWeakRef

        from sluice import _core

        self._torch, self._weak_reference, self._core, self._memory = torch, StorageWeakRef, _core, pool()
        self._share = parse_share(fast)
        self._set_budget(None if self._share is not None else parse_size(fast))
        if not os.path.isdir(to):
            raise FileNotFoundError(f"{to}: no such folder, and saved tensors are to go there")
        self._folder = to
        self._file_bytes = None if file is None else parse_size(file)
        self._parameters: set[int] | None = None
        self._most_growth = 0  # bytes that computing took for a while between two events of any step
        self._paths: dict[int, tuple[Path, Plan]] = {}  # by each of its prefixes
        self._expected: tuple[Path, Plan] | None = None
        self.last = OffloadReport()
        self._forget_all()

    def _forget_all(self) -> None:
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._store = self._hooks = None
        self._known: dict[int, SavedStorage] = {}  # by storage
        self._order: list[SavedStorage] = []

    # -- steps

    def __enter__(self) -> Offload:
        if self._process != os.getpid():
            self._forget_all()  # it is the parent's: its lanes do not run here
        if self._hooks is not None:
            raise RuntimeError("sluice.offload: this budget is in use already; steps do not nest")
        if self._parameters is None:
            self._find_parameters()
        self._begin()
        self._hooks = self._torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)
        self._hooks.__enter__()
        self._memory.begin_step()
        return self

    def _find_parameters(self) -> None:
        from torch.nn.parameter import is_lazy

        found = [each for each in gc.get_objects() if issubclass(type(each), self._torch.nn.Parameter)]
        self._parameters = {storage_of(each).data_ptr() for each in found if not is_lazy(each)}
        self._more_parameters = any(map(is_lazy, found))  # the first step makes them

    def __exit__(self, *exception) -> None:
        hooks, self._hooks = self._hooks, None
        hooks.__exit__(*exception)
        self._memory.end_step()
        with self._lock:
            self._end(failed=exception[0] is not None)
        if self._more_parameters:
            self._parameters = None

    def _begin(self) -> None:
        self._order = [entry for entry in self._order if entry.handles > 0]  # of graphs that are kept from step to step
        kept = sum(entry.nbytes for entry in self._order if entry.alias is not None)
        self._fixed, self._held = self._memory.used() - kept, self._memory.held() - kept
        self._limit = UNLIMITED if self._budget is None else self._budget
        self._memory.set_limit(min(UNLIMITED, self._held + self._limit))
        self._path = Path()
        self._absent = 0
        self._going: list[SavedStorage] = []  # leaving or freeing, oldest first
        for entry in self._order:
            entry.index = None
            if entry.place in ("leaving", "freeing"):
                self._going.append(entry)
        self._growth = self._most_growth or (self._budget or 0) // 2  # a guess, then the most so far
        self._resident = 0
        self._next_oldest, self._next_bring = 0, 0
        self._report = OffloadReport(budget=self._budget)
        self._memory.begin_peaks()
        self._event("begin", None)

    def _end(self, failed: bool) -> None:
        self._close_interval()
        path, report = self._path, self._report
        report.as_planned = self._expected is not None and self._expected[0].prefixes == path.prefixes
        report.saved = sum(each.nbytes for each in path.saved)
        report.peak = max(path.most)
        self._most_growth = max(self._most_growth, max(map(path.growth, range(len(path.used)))))
        over = self._resident - max(self._budget or 0, report.peak)  # holes that no tensor fitted into
        if self._budget is not None and over > 0:
            self._between += over
            report.peak = self._resident
        if self._store is not None:
            report.notes += self._store.notes
        self.last = report
        for each, entry in zip(path.saved, self._made):
            each.outlived = not entry.reference.expired()
        if self._budget is None and not failed and path.saved:
            self._set_budget(max(1, int(self._share * path.peak())))
        if not failed and self._budget is not None and (not report.as_planned or report.peak > self._budget):
            self._remember(path)
        self._known = {key: entry for key, entry in self._known.items() if not entry.reference.expired()}

    def _remember(self, path: Path) -> None:
        self._expected = (path, path.plan(self._budget - self._between))
        for prefix in path.prefixes:
            self._paths[prefix] = self._expected

    def _set_budget(self, budget: int | None) -> None:
        self._budget = budget
        self._between = (budget or 0) // 16  # bytes of holes between tensors: a guess, then the most so far

    # -- events

    def _event(self, kind: str, entry: SavedStorage | None) -> None:
        path = self._path
        if kind == "begin":
            self._made: list[SavedStorage] = []
        else:
            self._close_interval()
        what = (kind,) if entry is None else (kind, entry.index, entry.nbytes)
        number = path.happen(what, self._memory.used() - self._fixed, self._absent)
        expected = self._expected
        if expected is not None and (
            number >= len(expected[0].prefixes) or expected[0].prefixes[number] != path.prefixes[number]
        ):
            self._expected = self._paths.get(path.prefixes[number])
            self._next_bring = 0

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
        growth = self._growth if expected is None else expected[0].growth(now)
        taken = max(self._memory.used() - self._fixed, self._memory.held() - self._held)
        return self._limit - self._between - growth - taken

    # -- hooks

    def _pack(self, tensor):
        storage = storage_of(tensor)
        nbytes, address = storage.nbytes(), storage.data_ptr()
        stays = (
            nbytes < self._memory.smallest
            or tensor.numel() * tensor.element_size() < SMALLEST_PART * nbytes
            or tensor.layout != self._torch.strided
            or address in self._parameters
            or not self._memory.owns(address)
        )
        if stays:
            return Kept(tensor)
        with self._lock:
            entry = self._entry_of(tensor, storage, nbytes)
            handle = Handle(self, entry, tensor)
            self._event("save", entry)
            if self._expected is not None and entry.index in self._expected[1].leaves and entry.place == "here":
                self._leave(entry)
            self._make_room()
            return handle

    def _entry_of(self, tensor, storage, nbytes):
        reference = self._weak_reference(storage)
        known = self._known.get(reference.cdata)
        if known is not None and not known.reference.expired():
            if known.version == tensor._version and known.handles > 0:
                return known
        entry = SavedStorage(len(self._made), tensor, nbytes, reference)
        self._known[reference.cdata] = entry
        self._made.append(entry)
        self._order.append(entry)
        self._path.saved.append(Saved(nbytes, len(self._path.used)))
        return entry

    def _unpack(self, packed):
        if isinstance(packed, Kept):
            if packed.tensor._version != packed.version:
                raise RuntimeError(CHANGED)
            return packed.tensor
        if self._process != os.getpid():
            raise RuntimeError("a tensor was saved in another process, and gradients need it in this one")
        with self._lock:
            entry = packed.entry
            if entry.index is not None:
                saved = self._path.saved[entry.index]
                saved.asked = len(self._path.used) if saved.asked is None else saved.asked
            self._event("ask", entry)
            if entry.place in ("away", "coming"):
                self._wait_for(entry)
            elif entry.place == "leaving":
                self._keep(entry)
            elif entry.place == "freeing":
                self._gone(entry)
                self._wait_for(entry)
            if entry.broken or entry.alias._version != entry.version:
                raise RuntimeError(CHANGED)
            base = self._torch.empty(0, dtype=packed.dtype).set_(storage_of(entry.alias))
            self._make_room()
            self._bring_next()
            return base.as_strided(packed.size, packed.stride, packed.offset)

    # -- leaving

    def _make_room(self) -> None:
        self._drop_what_left()
        while self._room() < 0:
            leaving = sum(entry.nbytes for entry in self._going if entry.place == "leaving")
            if leaving + self._room() < 0 and self._let_oldest_leave():
                continue
            oldest = next((entry for entry in self._going if entry.place == "leaving"), None)
            if oldest is None:
                return  # computing alone takes more than the budget
            self._store.wait_left(oldest.id)
            self._drop_what_left()

    def _let_oldest_leave(self) -> bool:
        while self._next_oldest < len(self._order):
            entry = self._order[self._next_oldest]
            if entry.place == "here" and entry.handles > 0:
                return self._leave(entry)
            self._next_oldest += 1
        return False

    def _leave(self, entry) -> bool:
        entry.id = self._open_store().leave(storage_of(entry.alias).data_ptr(), entry.nbytes)
        if entry.id is None:
            note = "the file is full: tensors stayed in memory, beyond the budget where need be; give it more room (file=)"
            if note not in self._report.notes:
                self._report.notes.append(note)
            return False
        entry.place = "leaving"
        self._going.append(entry)
        self._report.left += entry.nbytes
        return True

    def _drop_what_left(self) -> None:
        for entry in self._going:
            if entry.place == "leaving" and self._store.left(entry.id):
                entry.broken |= entry.alias._version != entry.version
                entry.alias, entry.place = None, "freeing"
            if entry.place == "freeing" and entry.reference.expired():
                self._gone(entry)
        self._going = [entry for entry in self._going if entry.place in ("leaving", "freeing")]

    def _gone(self, entry) -> None:
        entry.place = "away"
        self._absent += entry.nbytes

    def _keep(self, entry) -> None:
        """Asked for while it leaves: it stays after all, and is forgotten with its last handle."""
        entry.place = "back"
        self._going.remove(entry)

    # -- coming back

    def _bring(self, entry) -> None:
        entry.alias = self._torch.empty(entry.nbytes, dtype=self._torch.uint8)
        entry.version, entry.place = entry.alias._version, "coming"
        self._absent -= entry.nbytes
        self._store.bring(entry.id, entry.alias.data_ptr())

    def _wait_for(self, entry) -> None:
        if entry.place == "away":
            self._bring(entry)
        self._report.waited_for += not self._store.here(entry.id)
        self._store.wait_here(entry.id)
        entry.place = "back"

    def _bring_next(self) -> None:
        for entry in self._coming_next():
            if entry.nbytes > self._room():
                return
            self._bring(entry)

    def _coming_next(self):
        """Who is away and may come back now, in the order in which they are asked for."""
        now = len(self._path.used) - 1
        if self._expected is None:  # what was saved last is asked for next
            yield from (entry for entry in reversed(self._order) if entry.place == "away" and entry.handles > 0)
            return
        brings = self._expected[1].brings
        while self._next_bring < len(brings) and brings[self._next_bring][1] <= now:
            entry = self._made[brings[self._next_bring][0]]
            if entry.place == "away" and entry.handles > 0:
                yield entry
            if entry.place in ("leaving", "freeing"):
                return
            self._next_bring += 1

    def _release(self, entry) -> None:
        if self._process != os.getpid():
            return
        with self._lock:
            entry.handles -= 1
            if entry.handles > 0:
                return
            if entry.id is not None:
                self._store.forget(entry.id)
            if entry.place == "away":
                self._absent -= entry.nbytes
            if entry in self._going:
                self._going.remove(entry)
            entry.alias = entry.id = None
            entry.place = "released"

    def _open_store(self):
        if self._store is None:
            room = self._file_bytes
            if room is None:
                room = min(max(8 * self._budget, 1 << 30), int(0.8 * shutil.disk_usage(self._folder).free))
            self._store = self._core.SavedStore(self._folder, room)
        return self._store


_budgets: dict[tuple, Offload] = {}


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

    Parameters are not counted, nor moved. Gradients keep their bits.
    """
    key = (fast, os.path.abspath(to), file, threading.get_ident())
    if key not in _budgets:
        _budgets[key] = Offload(fast, to, file)
    return _budgets[key]
