"""What one step did with the tensors that it saved, and a plan for the next step that does the same.

An event is the begin of the step, or a tensor that autograd saves or asks for. Between two of them the framework computes;
how much more memory that takes for a while is known only afterwards. All sizes are bytes, all memory is beyond what
was there when the step began.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import accumulate

KEPT_PATHS = 16
KEPT_EVENTS = 1 << 14  # of all kept paths; a path that is longer is kept alone


@dataclass
class Saved:
    """A storage that autograd saved."""

    nbytes: int
    made: int  # event
    asked: int | None = None  # event, the first
    outlived: bool = False  # it was there behind the step: a batch, a data set


@dataclass
class Plan:
    leaves: set[int]  # which of the saved storages
    brings: list[tuple[int, int]]  # (storage, event from which on there is room for it), as they are asked for


@dataclass
class Path:
    """The events of one step, in order."""

    prefixes: array = field(default_factory=lambda: array("q"))  # what happened up to an event and with it, as one number
    used: list[int] = field(default_factory=list)  # at the event
    absent: list[int] = field(default_factory=list)  # saved bytes that were not in memory then
    most: list[int] = field(default_factory=list)  # used from the event to the next one
    saved: list[Saved] = field(default_factory=list)

    def happen(self, what: tuple, used: int, absent: int) -> int:
        """The event's number."""
        number = len(self.prefixes)
        for each in (self.most, self.absent, self.used):
            del each[number:]  # of an event that was interrupted
        self.most.append(used)
        self.absent.append(absent)
        self.used.append(used)
        self.prefixes.append(hash((self.prefixes[-1] if self.prefixes else 0, what)))
        return number

    def growth(self, event: int) -> int:
        """What computing takes beyond what is there at the event."""
        return self.most[event] - self.used[event]

    def peak(self) -> int:
        """With everything in memory."""
        return max((most + absent for most, absent in zip(self.most, self.absent)), default=0)

    def least(self) -> int:
        """With everything away that can be: what computing takes with what it asks for, and what does not leave."""
        changes = [0] * (len(self.used) + 1)
        for each in self.saved:
            if not each.outlived and each.asked is not None and each.asked > each.made + 1:
                changes[each.made + 1] += each.nbytes
                changes[each.asked] -= each.nbytes
        away = accumulate(changes)
        return max((most + absent - gone for most, absent, gone in zip(self.most, self.absent, away)), default=0)

    def plan(self, budget: int) -> Plan:
        """What is saved first waits longest, so it leaves; what is asked for comes back as early as there is room."""
        needed = [most + absent - budget for most, absent in zip(self.most, self.absent)]  # to be absent
        missing, leaves = max(needed, default=0), set()
        for index, each in enumerate(self.saved):
            if missing <= 0:
                break
            if each.outlived or each.asked is None:
                continue
            leaves.add(index)
            missing -= each.nbytes
        return Plan(leaves, self._brings(leaves, needed))

    def _brings(self, leaves: set[int], needed: list[int]) -> list[tuple[int, int]]:
        order = sorted(leaves, key=lambda index: self.saved[index].asked)
        still_away = [0] * (len(order) + 1)  # bytes, from this one on
        for position in range(len(order) - 1, -1, -1):
            still_away[position] = still_away[position + 1] + self.saved[order[position]].nbytes
        first = min((each.asked for each in self.saved if each.asked is not None), default=0)
        brings = []
        for position, index in enumerate(order):
            each = self.saved[index]
            event, earliest = each.asked, max(first, each.made + 1)
            # With this one back, and those before it, what is still away has to do at each event up to its own.
            while event > earliest and still_away[position + 1] >= needed[event - 1]:
                event -= 1
            brings.append((index, event))
        return brings


class KnownPath:
    """Of a path, what a step that takes it again has to know."""

    __slots__ = ("prefixes", "growths", "mosts", "plan")

    def __init__(self, path: Path, plan: Plan):
        self.prefixes = array("q", path.prefixes)  # its own: what happens behind the step is appended to the path's
        self.plan = plan
        self.growths = array("q", map(path.growth, range(len(path.used))))
        # With what was absent then and may stay this time, for all that is known before it is tried.
        self.mosts = array("q", map(sum, zip(path.most, path.absent)))

    def growth(self, event: int) -> int:
        return self.growths[event]


class KnownPaths:
    """The last paths that steps took, by what they begin with."""

    def __init__(self):
        self._paths: dict[int, KnownPath] = {}  # by their last prefix, the last taken last
        self._by_prefix: dict[int, KnownPath] = {}  # the last taken of those that have it
        self._events = 0

    def __len__(self) -> int:
        return len(self._by_prefix)

    def beginning(self, prefix: int) -> KnownPath | None:
        return self._by_prefix.get(prefix)

    def remember(self, known: KnownPath) -> KnownPath:
        """As the last taken. What was taken longest ago is forgotten where there are too many."""
        last = known.prefixes[-1]
        self._drop(last)
        self._paths[last] = known
        self._events += len(known.prefixes)
        for prefix in known.prefixes:
            self._by_prefix[prefix] = known
        while len(self._paths) > KEPT_PATHS or (self._events > KEPT_EVENTS and len(self._paths) > 1):
            self._forget(self._drop(next(iter(self._paths))))
        return known

    def _drop(self, last: int) -> KnownPath | None:
        known = self._paths.pop(last, None)
        if known is not None:
            self._events -= len(known.prefixes)
        return known

    def _forget(self, known: KnownPath) -> None:
        for prefix in known.prefixes:
            if self._by_prefix.get(prefix) is known:
                del self._by_prefix[prefix]
