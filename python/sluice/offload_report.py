"""What a step under a budget says of itself afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class OffloadReport:
    """What the last step did, in bytes."""

    saved: int = 0  # by autograd, each storage once, without what was there when the step began
    left: int = 0
    budget: int | None = None  # None: the step had no limit, to measure what it takes
    peak: int = 0  # the most that all tensors took beyond what was there when the step began
    waited_for: int = 0  # tensors that were not back when they were asked for
    as_planned: bool = False
    notes: list[str] = field(default_factory=list)
