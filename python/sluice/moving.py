"""Which of the storages that autograd saved are in memory: they leave for a file, oldest first, and come back.

Only what nobody else reaches leaves (core/saved_storage.hpp). A tensor that was just saved is in somebody's hands, mostly
until the next op has made its result; so what is to leave is looked at again and again for a while.
"""

from __future__ import annotations

from typing import Callable, Iterable

from sluice import stores
from sluice.memory import pool

LOOKS = 64  # at a storage that others have, before it stays unless there is no room


class Mover:
    """Of one budget. `room` says how many bytes may be taken now."""

    def __init__(self, folder: str, file_bytes: int | None, room: Callable[[], int]):
        self._folder, self._file_bytes, self._room = folder, file_bytes, room
        self.absent = pool().Absent()  # bytes that are in no memory
        self._order: list = []  # oldest first; also of graphs that are kept from step to step
        self._store = None

    def begin(self, report, budget: int | None) -> None:
        self._report, self._budget = report, budget
        self._order = [each for each in self._order if not each.released]
        for each in self._order:
            each.number = None
        self._leaving = [each for each in self._order if each.leaving]
        self._due: list = []  # (storage, looks): to leave as soon as it is nobody else's
        self._next_oldest = 0
        self.absent.bytes = 0

    def end(self) -> None:
        if self._store is None:
            return
        self._report.notes += self._store.notes
        if self._store.empty():
            store, self._store = self._store, None
            stores.give_back(self._folder, self._file_bytes, store)

    def in_memory(self) -> int:
        return sum(each.nbytes for each in self._order if not each.away)

    def add(self, storage) -> None:
        self._order.append(storage)

    # -- leaving

    def leave_soon(self, storage) -> None:
        self._due.append((storage, LOOKS))

    def stay(self, storage) -> None:
        self._due = [each for each in self._due if each[0] is not storage]

    def make_room(self) -> None:
        self._finish_leaving()
        self._let_due_leave()
        while self._room() < 0:
            leaving = sum(each.nbytes for each in self._leaving if each.leaving)
            if leaving + self._room() < 0 and self._let_oldest_leave():
                continue
            oldest = next((each for each in self._leaving if each.leaving), None)
            if oldest is None:
                return  # computing alone takes more than the budget
            oldest.wait_left()
            self._finish_leaving()

    def _let_due_leave(self) -> None:
        due, self._due = self._due, []
        for storage, looks in due:
            if not storage.here or storage.asked:
                continue
            if storage.is_ours():
                self._leave(storage)
            elif looks > 0:
                self._due.append((storage, looks - 1))

    def _let_oldest_leave(self) -> bool:
        while self._next_oldest < len(self._order) and self._order[self._next_oldest].released:
            self._next_oldest += 1
        for position in range(self._next_oldest, len(self._order)):
            storage = self._order[position]
            if storage.here and not storage.asked and storage.is_ours():
                return self._leave(storage)
        return False

    def _leave(self, storage) -> bool:
        if not storage.leave(self._open_store()):
            note = "the file is full: tensors stayed in memory, beyond the budget where need be; give it more room (file=)"
            if note not in self._report.notes:
                self._report.notes.append(note)
            return False
        self._leaving.append(storage)
        self._report.left += storage.nbytes
        return True

    def _finish_leaving(self) -> None:
        for each in self._leaving:
            each.finish_leaving()
        self._leaving = [each for each in self._leaving if each.leaving]

    def _open_store(self):
        if self._store is None:
            self._store, self._file_bytes = stores.borrow(self._folder, self._file_bytes, self._budget)
        return self._store

    # -- coming back

    def bring(self, storages: Iterable) -> None:
        """As many of those that are away as there is room for."""
        for each in storages:
            if each.nbytes > self._room():
                return
            each.bring()

    def away_last_first(self) -> Iterable:
        return (each for each in reversed(self._order) if each.away)
