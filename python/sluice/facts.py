"""What there is and what is known: the shorter commands as functions, as commands.py has the longer ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

from sluice.about_model import Document, about_model
from sluice.command import run_command
from sluice.settings import File, Settings, check_settings, option_words

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

    Model = Union[str, File, torch.nn.Module]


def inspect(
    model: Model,
    *,
    ops: int | None = None,
    inputs: Any = None,
    quiet: bool = False,
    json: File | None = None,
    **settings: Unpack[Settings],
) -> Document:
    """What a model is made of (`ops` of its ops) and takes: `fast_only_bytes`, `smallest_fast_bytes`; measures nothing."""
    return about_model("inspect", locals())


def verify(
    plan: File,
    model: Model,
    *,
    inputs: Any = None,
    quiet: bool = False,
    json: File | None = None,
    **settings: Unpack[Settings],
) -> Document:
    """Proves a plan file safe: `safe`, and `violations` where it is not, which is no error."""
    return about_model("verify", locals(), ["plan"])


def explain(
    plan: File,
    name: str,
    model: Model,
    *,
    inputs: Any = None,
    quiet: bool = False,
    json: File | None = None,
    **settings: Unpack[Settings],
) -> Document:
    """Tells the life of a tensor or an op in a plan file: `rows(result)` has the events, in order."""
    return about_model("explain", locals(), ["plan", "name"])


def machine(*, quiet: bool = False, json: File | None = None, **settings: Unpack[Settings]) -> Document:
    """Measures this machine's tiers and links: bytes, bytes a second, seconds. Of the settings, those of machines."""
    check_settings("machine", settings)
    return run_command(["machine", *option_words(settings)], quiet=quiet, json_file=json)


def models() -> Document:
    """The built-in models, with their usual sizes."""
    return run_command(["models"], quiet=True)


def planners() -> Document:
    """The planners, and what each decides."""
    return run_command(["planners"], quiet=True)
