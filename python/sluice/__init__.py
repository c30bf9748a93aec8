"""Sluice: train networks that do not fit into fast memory.

``sluice.offload`` moves what PyTorch saves for the backward pass to a disk and back, behind the computation;
``sluice.offload_optimizer`` what the optimizer keeps.
"""

from sluice.offloading import Offload, offload
from sluice.optimizing import offload_optimizer
from sluice.sizes import parse_size

__all__ = ["Offload", "offload", "offload_optimizer", "parse_size"]
