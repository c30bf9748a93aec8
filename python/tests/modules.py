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
