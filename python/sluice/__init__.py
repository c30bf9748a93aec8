"""Sluice: train networks that do not fit into fast memory.

``sluice.offload`` moves what PyTorch saves for the backward pass to a disk and back, behind the computation.
"""

from sluice.sizes import parse_size
from sluice.offloading import Offload, offload

__all__ = ["Offload", "offload", "parse_size"]
