"""Objects that work for the process that made them alone."""

from __future__ import annotations

import os
from typing import Any


class OfThisProcess:
    """`held`, whose memory and threads a child of this process has not: there every use is an error."""

    def __init__(self, held: Any):
        vars(self).update(_held=held, _process=os.getpid())

    def _own(self) -> Any:
        if os.getpid() != self._process:
            raise RuntimeError("a sluice.Trainer has the module's values in the process that forked this one: look at the module "
                               "there, or close the trainer before")
        return self._held

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._own(), name, value)
