"""Files for saved tensors, which budgets borrow for as long as something of theirs is in them.

A file costs two threads, five descriptors and its room on the disk, so few are kept for the next step: however many budgets
a program makes, no more stay than that. Threads: any.
"""

from __future__ import annotations

import os
import shutil
import threading

KEPT = 2  # files that nobody uses
LEAST_ROOM = 1 << 30  # bytes of a file whose user has not said how many
MOST_OF_THE_DISK = 0.8  # of what is free

_lock = threading.Lock()
_kept: list[tuple[str, int, object]] = []  # folder, room and store, the last used last


def borrow(folder: str, room: int | None, budget: int):
    """A store in the folder, and its room: of `room` bytes, or as the budget and the disk suggest."""
    from sluice import _core
    from sluice.errors import SluiceError

    with _lock:
        if room is None:
            free = shutil.disk_usage(folder).free + sum(kept for where, kept, _ in _kept if where == folder)
            room = min(max(8 * budget, LEAST_ROOM), int(MOST_OF_THE_DISK * free))
        for number, (where, kept, store) in enumerate(_kept):
            if where == folder and kept == room:
                del _kept[number]
                return store, room
        try:
            return _core.SavedStore(folder, room), room
        except SluiceError:
            if not _kept:
                raise
            _kept.clear()  # they may have what it takes
        return _core.SavedStore(folder, room), room


def give_back(folder: str, room: int, store) -> None:
    """Of an empty store."""
    with _lock:
        _kept.append((folder, room, store))
        del _kept[:-KEPT]


def _forget() -> None:
    """In a child of the process: the files are the parent's, and so may be the lock's owner."""
    global _lock
    _lock = threading.Lock()
    _kept.clear()


os.register_at_fork(after_in_child=_forget)
