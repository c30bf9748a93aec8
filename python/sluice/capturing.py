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

def capture(module: torch.nn.Module, inputs: Any, path: str, loss: Callable | None = None, targets: Any = None) -> None:
    """Writes the module as it trains to `path`. Arguments and errors are those of export()."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(_failure(module, inputs, path, loss, targets), pipe)
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
    failure = pickle.loads(answer) if answer else SluiceError("the process that captures the module died", "internal")
    if failure is not None:
        raise failure


def _failure(module: torch.nn.Module, inputs: Any, path: str, loss: Callable | None, targets: Any) -> Exception | None:
    import torch

    torch.set_num_threads(1)  # the parent's other threads are not here
    try:
        if not keeps_modes(module):
            module.train()
        export(module, inputs, path, loss, targets)
    except (SluiceError, OSError) as problem:
        return problem
    except BaseException as problem:
        return SluiceError(f"{type(problem).__name__}: {problem}", "unsupported")
    return None
