"""Sluice: train networks that do not fit into fast memory.

``sluice.offload`` moves what PyTorch saves for the backward pass to a disk and back, behind the computation;
``sluice.offload_optimizer`` what the optimizer keeps. ``sluice.Trainer`` trains a module by Sluice's kernels.
"""

from sluice.offloading import Offload, offload
from sluice.optimizing import offload_optimizer
from sluice.sizes import parse_size
from sluice.training import Trainer

__all__ = ["Offload", "Trainer", "offload", "offload_optimizer", "parse_size"]
