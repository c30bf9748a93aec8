"""Where an optimizer's state goes: what leaves, what comes, and how much of it may be on its way."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Callable

from sluice.elsewhere import Elsewhere, StateDict
from sluice.errors import SluiceError

if TYPE_CHECKING:
    import torch


class StateStore:
    """A file in `folder`, with `nbytes` on their way in each direction at most. Errors of the disk stay in `problem`: what
    could not leave is in memory."""

    def __init__(self, optimizer: torch.optim.Optimizer, folder: str, nbytes: int):
        self.nbytes = nbytes
        self.read = self.written = 0  # bytes, in all
        self.problem: SluiceError | None = None
        self._optimizer, self._folder = optimizer, folder
        self._file: Any = None
        self._leaving: deque[Elsewhere] = deque()
        self._coming: list[Elsewhere] = []

    def leave(self, state: Any) -> None:
        if type(state) is not StateDict:
            return
        try:
            begun = state.leave(lambda: self._open_file(state))
            self.written += sum(each.nbytes for each in begun)
            self._leaving.extend(begun)
            self._finish(lambda: sum(each.nbytes for each in self._leaving) > self.nbytes)
            self._finish(lambda: bool(self._leaving) and self._leaving[0].left())
        except SluiceError as problem:
            self.problem = self.problem or problem

    def _finish(self, wanted: Callable[[], bool]) -> None:
        while wanted():
            self._leaving.popleft().finish_leaving()

    def bring(self, state: StateDict | None) -> None:
        for each in state.elsewhere() if state is not None else ():
            if not each.leaving and not each.coming:
                self._coming.append(each)
                self.read += each.nbytes
                each.bring()

    def bring_ahead(self, states: list[StateDict | None]) -> None:
        """As many of them as there is room for, in this order."""
        self._coming = [each for each in self._coming if each.coming]
        room = self.nbytes - sum(each.nbytes for each in self._coming)
        for state in states:
            away = [each for each in state.elsewhere() if not each.coming] if state is not None else []
            room -= sum(each.nbytes for each in away)
            if room < 0 or any(each.leaving for each in away):
                return
            self.bring(state)

    def under_way(self) -> int:
        return sum(each.nbytes for each in (*self._leaving, *self._coming) if each.leaving or each.coming)

    def _open_file(self, state: StateDict) -> Any:
        """As large as all weights' states are, if they are all like this one; it grows if not."""
        if self._file is None:
            from sluice import _core

            weights = [each for group in self._optimizer.param_groups for each in group["params"]]
            once = sum(each.numel() * each.element_size() for each in weights)
            self._file = _core.ParkingFile(self._folder, state.large() * once + 2 * self.nbytes)
        return self._file
