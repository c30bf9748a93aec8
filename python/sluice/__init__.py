"""Sluice: train networks that do not fit into fast memory.

``sluice.offload`` moves what PyTorch saves for the backward pass to a disk and back, behind the computation;
``sluice.offload_optimizer`` what the optimizer keeps. ``sluice.Trainer`` trains a module by Sluice's kernels. ``sluice.plan``,
``simulate``, ``sweep``, ``max_batch``, ``report`` and ``characterize`` say what training a model in little memory would take,
and need no PyTorch.
"""

from sluice.commands import characterize, max_batch, plan, report, simulate, sweep
from sluice.errors import SluiceError
from sluice.facts import explain, inspect, machine, models, planners, verify
from sluice.offloading import Offload, offload
from sluice.optimizing import offload_optimizer
from sluice.parameters import offload_parameters
from sluice.rows import rows
from sluice.sizes import parse_size
from sluice.training import Trainer
from sluice.training_in import train_in

__all__ = [
    "Offload",
    "SluiceError",
    "Trainer",
    "characterize",
    "explain",
    "inspect",
    "machine",
    "max_batch",
    "models",
    "offload",
    "offload_optimizer",
    "offload_parameters",
    "parse_size",
    "plan",
    "planners",
    "report",
    "rows",
    "simulate",
    "sweep",
    "train_in",
    "verify",
]
