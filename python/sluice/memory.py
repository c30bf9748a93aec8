"""PyTorch's memory as ours: see core/torch_memory.cpp."""

import contextlib

from sluice import _core


def pool():
    """The module that knows what all tensors take. From the first call on they are in the pool."""
    _refuse_another_pytorch()
    try:
        from sluice import _torch
    except ImportError as missing:
        raise ImportError("sluice was built without PyTorch's headers (libtorch-dev): nothing can be offloaded") from missing
    _torch.install()
    return _torch


def _refuse_another_pytorch() -> None:
    """Its C++ is another from version to version."""
    import torch

    built_for, here = _core.built_for_torch, torch.__version__
    if built_for and here.split(".")[:2] != built_for.split("."):
        raise ImportError(f"sluice was built for PyTorch {built_for}, and this is PyTorch {here}: build Sluice again with this "
                          f"Python (docs/python.md), or use PyTorch {built_for}")


def ordinary_tensors():
    """What is made within may be changed outside of inference mode. Nothing is entered where that is so anyway: what PyTorch
    enters it does not leave when an exception comes as it does."""
    import torch

    return torch.inference_mode(False) if torch.is_inference_mode_enabled() else contextlib.nullcontext()


def storage_of(tensor):
    """Without a type; PyTorch 1.13 has another name for it than 2."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._storage
