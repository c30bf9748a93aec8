"""``with sluice.offload(fast="1GiB", to="/fast/disk"):`` around the steps of any eager PyTorch model.

Autograd saves tensors in the forward pass and asks for them in the backward pass, mostly in the opposite order. What is
saved first waits longest, so it leaves first: to a file, in the background. In the backward pass it comes back before it
is asked for. Nothing of the model is captured, and the values are those that were saved, so gradients keep their bits.

The first step is measured: what it keeps leaves only when the budget is full. From the second on, a step whose saved
tensors are those of the step before knows how much has to leave, and begins with the first tensor. Where a step differs,
the rest of it is treated as a first one.

Threads: hooks of one step may run in several threads; they take turns.
"""

from __future__ import annotations

import gc
import os
import shutil
import threading
from dataclasses import dataclass, field

from sluice.sizes import parse_share, parse_size

SMALLEST = 64 << 10  # bytes; what is smaller stays
SMALLEST_PART = 1 / 4  # of a storage; a view of less is one of a data set, perhaps, and stays
ARENA_SHARE = 0.25  # of the budget, for what has come back
PAGE = 4096  # bytes; what comes back is read into whole ones


@dataclass
class OffloadReport:
    """What the last step did, in bytes."""

    saved: int = 0  # by autograd, each storage once, without parameters
    left: int = 0
    kept_peak: int = 0  # of saved tensors in PyTorch's memory at once
    waited_for: int = 0  # tensors that were not back when they were asked for
    beside_arena: int = 0  # tensors for which the arena had no room
    as_planned: bool = False
    notes: list[str] = field(default_factory=list)


class _Entry:
    """A storage that autograd has saved, once or more often."""

    __slots__ = ("alias", "shift", "nbytes", "version", "handles", "id", "leaving", "coming", "back", "broken", "counted")

    def __init__(self, alias, nbytes, version):
        self.alias = alias  # a tensor on the storage, or on what has come back; None while it is away
        self.shift = 0  # bytes: where it begins in alias' storage
        self.nbytes = nbytes
        self.version = version
        self.handles = 0
        self.id = None  # in the store
        self.leaving = self.coming = self.back = False
        self.broken = False  # it was changed in place while it left
        self.counted = True  # in the budget


class _Handle:
    """What autograd keeps in place of a tensor."""

    __slots__ = ("owner", "entry", "dtype", "size", "stride", "offset")

    def __init__(self, owner, entry, tensor):
        self.owner, self.entry = owner, entry
        self.dtype, self.size, self.stride = tensor.dtype, tensor.size(), tensor.stride()
        self.offset = tensor.storage_offset()
        entry.handles += 1

    def __del__(self):
        self.owner._release(self.entry)


class Offload:
    """A budget for what autograd saves; enter it around each step. See :func:`offload`."""

    def __init__(self, fast: str | int, to: str, file: str | int | None = None):
        import torch  # only who offloads needs it
        from torch.multiprocessing.reductions import StorageWeakRef

        from sluice import _core

        self._torch, self._weak_reference, self._core = torch, StorageWeakRef, _core
        self._share = parse_share(fast)
        self._budget = None if self._share is not None else parse_size(fast)
        if not os.path.isdir(to):
            raise FileNotFoundError(f"{to}: no such folder, and saved tensors are to go there")
        self._folder = to
        self._file_bytes = None if file is None else parse_size(file)
        self._lock = threading.RLock()
        self._store = self._arena = None
        self._parameters: set[int] | None = None
        self._known: dict[int, tuple] = {}  # by storage: a weak reference, the entry
        self._before: list[int] = []  # sizes that the step before saved, in order
        self._outlived: set[int] = set()  # of these, who was there behind the step: batches, data sets
        self._hooks = None
        self.last = OffloadReport()
        self._order: list[_Entry] = []
        self._begin()

    # -- steps

    def __enter__(self) -> Offload:
        if self._hooks is not None:
            raise RuntimeError("sluice.offload: this budget is in use already; steps do not nest")
        if self._parameters is None:
            self._parameters = {
                _storage(each).data_ptr() for each in gc.get_objects() if issubclass(type(each), self._torch.nn.Parameter)
            }
        self._begin()
        self._hooks = self._torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)
        self._hooks.__enter__()
        return self

    def __exit__(self, *exception) -> None:
        hooks, self._hooks = self._hooks, None
        hooks.__exit__(*exception)
        with self._lock:
            self._end(failed=exception[0] is not None)

    def _begin(self) -> None:
        self._order = [entry for entry in self._order if entry.handles > 0]  # of graphs that are kept from step to step
        self._sizes: list[int] = []
        self._references: list = []  # weak ones, to the storages
        # Bytes of saved tensors in PyTorch's memory, those about to leave too; of these, about to leave.
        self._kept = sum(entry.nbytes for entry in self._order if entry.alias is not None and not entry.back)
        self._going = sum(entry.nbytes for entry in self._order if entry.leaving)
        self._left = 0
        self._planned = bool(self._before) and self._budget is not None
        ours = sum(size for index, size in enumerate(self._before) if index not in self._outlived)
        self._to_leave = max(0, ours - self._kept_budget()) if self._planned else 0
        self._next_oldest = 0
        self._next_back = -1
        self._report = OffloadReport(as_planned=self._planned)

    def _end(self, failed: bool) -> None:
        self._report.as_planned &= self._sizes == self._before
        self._report.saved, self._report.left = sum(self._sizes), self._left
        if self._store is not None:
            self._report.notes = list(self._store.notes)
        self.last = self._report
        if not failed and self._sizes:
            self._before = self._sizes
            self._outlived = {index for index, reference in enumerate(self._references) if not reference.expired()}
            if self._budget is None:
                self._budget = max(1, int(self._share * self._report.kept_peak))
        self._known = {key: known for key, known in self._known.items() if not known[0].expired()}

    def _kept_budget(self) -> int:
        """Of the budget, what saved tensors may take in PyTorch's memory."""
        if self._budget is None:
            return 1 << 62
        return max(0, int(self._budget * (1 - ARENA_SHARE)) - self._core.SavedStore.staging_bytes)

    # -- hooks

    def _pack(self, tensor):
        storage = _storage(tensor)
        nbytes = storage.nbytes()
        stays = (
            nbytes < SMALLEST
            or tensor.numel() * tensor.element_size() < SMALLEST_PART * nbytes
            or tensor.device.type != "cpu"
            or tensor.layout != self._torch.strided
            or storage.data_ptr() in self._parameters
        )
        if stays:
            return tensor
        with self._lock:
            handle = _Handle(self, self._entry_of(tensor, storage, nbytes), tensor)
            self._make_room()
            return handle

    def _entry_of(self, tensor, storage, nbytes):
        reference = self._weak_reference(storage)
        known = self._known.get(reference.cdata)
        if known is not None and not known[0].expired():
            entry = known[1]
            if entry.version == tensor._version and entry.handles > 0:
                return entry
        entry = _Entry(tensor, nbytes, tensor._version)
        self._known[reference.cdata] = (reference, entry)
        index = len(self._sizes)
        self._sizes.append(nbytes)
        self._references.append(reference)
        self._planned = self._planned and index < len(self._before) and self._before[index] == nbytes
        entry.counted = not (self._planned and index in self._outlived)
        if entry.counted:
            self._order.append(entry)
            self._next_back = len(self._order) - 1
            self._kept += nbytes
            self._report.kept_peak = max(self._report.kept_peak, self._kept)
        return entry

    def _unpack(self, packed):
        if not isinstance(packed, _Handle):
            return packed
        with self._lock:
            entry = packed.entry
            self._settle(entry)
            if entry.coming or entry.alias is None:
                self._wait_for(entry)
            if entry.broken or entry.alias._version != entry.version:
                raise RuntimeError(
                    "a tensor that is needed for gradients was changed in place after autograd had saved it"
                )
            self._bring_next()
            base = self._torch.empty(0, dtype=packed.dtype).set_(_storage(entry.alias))
            shift = entry.shift // base.element_size()
            return base.as_strided(packed.size, packed.stride, packed.offset + shift)

    # -- leaving

    def _make_room(self) -> None:
        budget = self._kept_budget()
        self._drop_what_left()
        while self._kept - self._going > budget or (self._planned and self._left < self._to_leave):
            if not self._let_oldest_leave():
                break
        while self._kept > budget and self._going > 0:  # slower than they are made: the step waits
            oldest = next(each for each in self._order if each.leaving)
            self._store.wait_left(oldest.id)
            self._drop_what_left()

    def _let_oldest_leave(self) -> bool:
        while self._next_oldest < len(self._order):
            entry = self._order[self._next_oldest]
            self._next_oldest += 1
            if entry.alias is None or entry.back or entry.handles == 0:
                continue
            entry.id = self._open_store().leave(_storage(entry.alias).data_ptr(), entry.nbytes)
            if entry.id is None:  # the file is full
                self._next_oldest -= 1
                return False
            entry.leaving = True
            self._going += entry.nbytes
            self._left += entry.nbytes
            return True
        return False

    def _drop_what_left(self) -> None:
        for entry in self._order:
            if entry.leaving and self._store.left(entry.id):
                self._gone(entry)

    def _gone(self, entry) -> None:
        entry.broken |= entry.alias._version != entry.version
        entry.leaving, entry.alias = False, None
        self._going -= entry.nbytes
        self._kept -= entry.nbytes

    def _settle(self, entry) -> None:
        """Asked for while it leaves: it stays after all."""
        if not entry.leaving:
            return
        self._store.forget(entry.id)
        entry.id, entry.leaving = None, False
        self._going -= entry.nbytes
        self._left -= entry.nbytes

    # -- coming back

    def _bring(self, entry, pages) -> None:
        """Into pages of the arena, or PyTorch's own memory where it has no room."""
        if pages is not None:
            entry.alias = self._torch.frombuffer(pages, dtype=self._torch.uint8)
        else:
            self._report.beside_arena += 1
            entry.alias = self._torch.empty(entry.nbytes + 2 * PAGE, dtype=self._torch.uint8)
        entry.shift = -entry.alias.data_ptr() % PAGE
        entry.version, entry.coming, entry.back = entry.alias._version, True, True
        self._store.bring(entry.id, entry.alias.data_ptr() + entry.shift)

    def _wait_for(self, entry) -> None:
        if not entry.coming:
            self._bring(entry, self._arena.take(entry.nbytes))
        self._report.waited_for += not self._store.here(entry.id)
        self._store.wait_here(entry.id)
        self._store.forget(entry.id)
        entry.id, entry.coming = None, False

    def _bring_next(self) -> None:
        """What was saved last, of what is away, is asked for next."""
        while self._next_back >= 0:
            each = self._order[self._next_back]
            if each.alias is None and each.handles > 0:
                pages = self._arena.take(each.nbytes)
                if pages is None:
                    return
                self._bring(each, pages)
            self._next_back -= 1

    def _release(self, entry) -> None:
        with self._lock:
            entry.handles -= 1
            if entry.handles > 0:
                return
            if entry.leaving:
                self._going -= entry.nbytes
            if entry.alias is not None and entry.counted and not entry.back:
                self._kept -= entry.nbytes
            if entry.id is not None:
                self._store.forget(entry.id)
            entry.alias = entry.id = None
            entry.leaving = entry.coming = False

    def _open_store(self):
        if self._store is None:
            room = self._file_bytes
            if room is None:
                room = min(max(8 * self._budget, 1 << 30), int(0.8 * shutil.disk_usage(self._folder).free))
            self._store = self._core.SavedStore(self._folder, room)
            self._arena = self._core.PageArena(max(SMALLEST, int(self._budget * ARENA_SHARE)))
        return self._store


def _storage(tensor):
    """Without a type; PyTorch 1.13 has another name for it than 2."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._storage


_budgets: dict[tuple, Offload] = {}


def offload(fast: str | int, to: str, file: str | int | None = None) -> Offload:
    """A budget for what PyTorch saves for the backward pass, to enter around each step.

    Args:
        fast: bytes that saved tensors may take in memory ("1GiB"), or a share ("40%") of what the first step took.
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
