"""PyTorch's memory as ours: see core/torch_memory.cpp."""

import contextlib


def pool():
    """The module that knows what all tensors take. From the first call on they are in the pool."""
    try:
        from sluice import _torch
    except ImportError as missing:
        raise ImportError("sluice was built without PyTorch's headers (libtorch-dev): nothing can be offloaded") from missing
    _torch.install()
    return _torch


def ordinary_tensors():
    """What is made within may be changed outside of inference mode. Nothing is entered where that is so anyway: what PyTorch
    enters it does not leave when an exception comes as it does."""
    import torch

    return torch.inference_mode(False) if torch.is_inference_mode_enabled() else contextlib.nullcontext()


def storage_of(tensor):
    """Without a type; PyTorch 1.13 has another name for it than 2."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._storage
