"""Who asks for a saved tensor.

PyTorch gives a tensor that was detached in place after it had been saved to a ``torch.autograd.Function`` that saved it, and
refuses it to its own ops. A hook is not told which of them asks; Python's frames know.
"""

from __future__ import annotations

import sys


def by_function() -> bool:
    """Whether a Function's backward asks the hook that calls this, and not an op of PyTorch's."""
    import torch
    import torch.utils.checkpoint

    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == torch.autograd.function.__file__:
            return True  # the engine has called a Function
        if frame.f_code.co_filename == torch.utils.checkpoint.__file__:
            return True  # the Function that a checkpoint of PyTorch 2 keeps its arguments in
        if frame.f_code.co_filename == torch.autograd.__file__:
            return False  # the engine was started, and runs an op
        frame = frame.f_back
    return False
