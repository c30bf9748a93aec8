"""What a step under a budget keeps of each tensor that autograd saves, and what it says of the step afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class OffloadReport:
    """What the last step did, in bytes."""

    saved: int = 0  # by autograd, each storage once, without parameters
    left: int = 0
    budget: int | None = None  # None: the step had no limit, to measure what it takes
    peak: int = 0  # the most that all tensors took beyond what was there when the step began
    waited_for: int = 0  # tensors that were not back when they were asked for
    as_planned: bool = False
    notes: list[str] = field(default_factory=list)


class SavedStorage:
    """A storage that autograd has saved, once or more often."""

    __slots__ = ("index", "alias", "nbytes", "version", "reference", "handles", "id", "place", "broken")

    def __init__(self, index, tensor, nbytes, reference):
        self.index = index  # in the step's path; None where the step is over
        self.alias = tensor  # a tensor on the storage, or on what has come back; None while it is away
        self.nbytes = nbytes
        self.version = tensor._version
        self.reference = reference  # a weak one, to the storage
        self.handles = 0
        self.id = None  # in the store
        self.place = "here"  # leaving, freeing (others still hold it), away, coming, back
        self.broken = False  # it was changed in place while it left


class Handle:
    """What autograd keeps in place of a tensor."""

    __slots__ = ("owner", "entry", "dtype", "size", "stride", "offset")

    def __init__(self, owner, entry, tensor):
        self.owner, self.entry = owner, entry
        self.dtype, self.size, self.stride = tensor.dtype, tensor.size(), tensor.stride()
        self.offset = tensor.storage_offset()
        entry.handles += 1

    def __del__(self):
        self.owner._release(self.entry)


class Kept:
    """A tensor that stays. PyTorch checks no versions of what hooks give back, so it is done here."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor):
        self.tensor, self.version = tensor, tensor._version
