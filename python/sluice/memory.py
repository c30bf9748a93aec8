"""PyTorch's memory as ours: see core/torch_memory.cpp."""


def pool():
    """The module that knows what all tensors take. From the first call on they are in the pool."""
    try:
        from sluice import _torch
    except ImportError as missing:
        raise ImportError("sluice was built without PyTorch's headers (libtorch-dev): nothing can be offloaded") from missing
    _torch.install()
    return _torch


def storage_of(tensor):
    """Without a type; PyTorch 1.13 has another name for it than 2."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._storage
