"""Hooks of leaves (``weight.register_hook(...)``) that PyTorch 2 would forget.

What a ``torch.autograd.Function`` gets of a leaf that it has saved is, where saved tensors have hooks, a second tensor with the
leaf's accumulator of gradients. PyTorch 2.6 clears the accumulator's hooks, which are the leaf's, as that tensor goes: the
leaf's own hooks are not called any more, and its gradient is silently another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def keep_hooks(leaf: torch.Tensor) -> None:
    """Gives a leaf that a Function is about to get its hooks back when the Function is done, before they are due."""
    import torch

    asking = getattr(torch._C, "_current_autograd_node", lambda: None)()
    if leaf._backward_hooks and isinstance(asking, torch.autograd.function.BackwardCFunction):
        node: Any = asking

        def done(*_: Any) -> None:
            handle.remove()
            leaf._backward_hooks = leaf._backward_hooks

        handle = node.register_hook(done)
