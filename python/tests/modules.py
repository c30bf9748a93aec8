"""Small modules for tests."""

try:
    import torch
except ImportError:
    torch = None


def module_of(forward, **parts):
    """Of these parts, parameters among them; `forward` takes the module first."""
    made = type("Module", (torch.nn.Module,), {"forward": forward})()
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def paging_refused():
    """With PyTorch. Why this system has no memory that is filled when it is touched; None where it has."""
    import tempfile

    import sluice
    from sluice import _core

    try:
        _core.PagedMemory([("", 0, 4096, True)], _core.PagedMemory.least_resident, tempfile.gettempdir())
    except sluice.SluiceError as error:
        if error.kind != "unsupported":
            raise
        return str(error)
    return None
