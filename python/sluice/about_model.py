"""Runs one of the command's subcommands about one model."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from sluice.captured import given_model
from sluice.command import run_command
from sluice.settings import File, check_settings, option_words

Document = dict[str, Any]


def about_model(
    command: str,
    model: Any,
    inputs: Any,
    options: dict[str, Any],
    settings: Mapping[str, Any],
    quiet: bool,
    json: File | None = None,
    *,
    first: Sequence[str] = (),
    with_batch: bool = True,
) -> Document:
    """The document of `sluice COMMAND FIRST... MODEL OPTIONS SETTINGS`; of a module with its batch, where it has a say."""
    check_settings(command.replace("-", "_"), settings)
    with given_model(model, inputs, with_batch and "batch" not in settings) as words:
        arguments = [command, *first, *words, *option_words({**options, **settings})]
        return run_command(arguments, quiet=quiet, json_file=json)
