"""What stops a call of the product: an exception with the numbers that its message has as text."""

from __future__ import annotations


class SluiceError(RuntimeError):
    """Why something could not be done; the text says what was asked for, what there is, and what to do.

    Attributes:
        kind: "bad-input" (an argument, a file or a model is wrong), "infeasible" (the budget is too small, which is proved),
            "none-found" (no plan was found in the budget), "out-of-time" (there was no answer yet when the time given was
            over), "unsupported" (this build or machine cannot do it), "io" (a file or device failed), "out-of-space" (memory or a file system is
            full), "mismatch" (a plan or profile is of another model or machine), "interrupted" or "internal".
        message: the text.
        requested: bytes that it takes, where the error is about room and they are known; else None. Of a budget that is
            too small: the smallest that works.
        available: bytes that there are, likewise; the budget.
    """

    def __init__(self, message: str, kind: str = "bad-input", requested: int | None = None, available: int | None = None):
        super().__init__(message, kind, requested, available)  # all of them, for pickle
        self.message = message
        self.kind = kind
        self.requested = requested
        self.available = available

    def __str__(self) -> str:
        return self.message
