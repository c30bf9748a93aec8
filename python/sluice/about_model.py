"""Runs one of the command's subcommands about one model."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from sluice.captured import given_model
from sluice.command import run_command
from sluice.settings import check_settings, option_words

Document = dict[str, Any]


_NO_OPTIONS = ("model", "models", "inputs", "settings", "quiet", "json")


def run_about(command: str, words: Sequence[str], given: Mapping[str, Any], first: Sequence[str] = ()) -> Document:
    """The document of `sluice COMMAND FIRST... WORDS OPTIONS SETTINGS`.

    Args:
        given: a function's arguments by name; what is no option is the rest.
        first: those that stand before the words.
    """
    options = {name: value for name, value in given.items() if name not in (*_NO_OPTIONS, *first)}
    arguments = [*(os.fspath(given[name]) for name in first), *words, *option_words({**options, **given["settings"]})]
    return run_command([command, *arguments], quiet=given["quiet"], json_file=given["json"])


def about_model(command: str, given: Mapping[str, Any], first: Sequence[str] = (), with_batch: bool = True) -> Document:
    """The same of `model`; of a module with its batch, where it has a say."""
    check_settings(command.replace("-", "_"), given["settings"])
    with given_model(given["model"], given["inputs"], with_batch and "batch" not in given["settings"]) as words:
        return run_about(command, words, given, first)
