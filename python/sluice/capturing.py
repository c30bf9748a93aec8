"""A PyTorch module written as an ONNX file (exporting.py) by a child of this process.

What exporting takes is then not this process's memory; nor is the module here touched.
"""

from __future__ import annotations

import os
import pickle
import signal
from typing import TYPE_CHECKING, Any, Callable

from sluice.errors import SluiceError
from sluice.exporting import export
from sluice.trainable import keeps_modes

if TYPE_CHECKING:
    import torch


def capture(module: torch.nn.Module, inputs: Any, path: str, weights: str, loss: Callable | None = None,
            targets: Any = None) -> dict[str, int]:
    """Writes the module as it trains to `path`. Arguments and errors are those of export().

    Returns how often a step calls each part that counts its calls, as batch norms do, by its name.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(_outcome(module, (inputs, path, loss, targets, weights)), pipe)
        finally:
            os._exit(0)  # nothing of the parent's program runs on here
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    outcome = pickle.loads(answer) if answer else SluiceError("the process that captures the module died", "internal")
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _outcome(module: torch.nn.Module, arguments: tuple) -> Exception | dict[str, int]:
    import torch

    torch.set_num_threads(1)  # the parent's other threads are not here
    try:
        if not keeps_modes(module):
            module.train()
        calls = count_calls(module)
        export(module, *arguments)
        return calls
    except (SluiceError, OSError) as problem:
        return problem
    except BaseException as problem:
        return SluiceError(f"{type(problem).__name__}: {problem}", "unsupported")


def count_calls(module: torch.nn.Module) -> dict[str, int]:
    """Of the parts that count them while they train: from now on."""
    calls: dict[str, int] = {}

    def counted(name: str) -> Callable:
        def called(*_: Any) -> None:
            calls[name] += 1

        return called

    for name, part in module.named_modules():
        if getattr(part, "num_batches_tracked", None) is not None and part.training:
            calls[name] = 0
            part.register_forward_hook(counted(name))
    return calls
