"""Keyword arguments that all functions of commands.py share, named as the command's options (`sluice plan --help`)."""

from __future__ import annotations

import difflib
import os
from typing import Any, Iterable, Mapping, Sequence, TypedDict, Union

Size = Union[int, str]  # bytes, "512MiB", or "20%" of what everything takes
File = Union[str, "os.PathLike[str]"]


class Settings(TypedDict, total=False):
    """Which shape of the model, trained how, on which machine. What is left out is as the command has it."""

    batch: int  # samples
    image_size: int  # pixels a side
    classes: int  # of a language model: words of the vocabulary
    sequence: int  # tokens
    width: int  # channels of the first convolution, growth, or hidden features
    depth: int  # layers, or blocks a stage
    dropout: float  # share of activations set to zero, 0 to 1
    loss: str  # of an ONNX file: "cross-entropy", "next-token", "masked-token"; "auto" goes by its inputs

    optimizer: str  # "sgd", "adam", "adamw"
    momentum: float  # Adam's beta 1
    beta2: float
    epsilon: float
    weight_decay: float
    clip_norm: float
    accumulate: int  # batches a step
    ranks: int  # processes that train together
    precision: str  # "fp32", "bf16", "bf16-masters", "fp16-masters"
    loss_scale: float
    finer_slices: int
    delay_updates: bool
    keep_norm_outputs: bool

    threads: int  # that compute
    slow: Union[str, Sequence[str]]  # slow tiers, nearest first: "file", "numa:1:8GiB", "optane", ...
    gpu: bool  # compute there: its memory is the fast tier
    spill_dir: File  # folder of the file tier
    link_bandwidth: str  # "1GB/s": throttles links
    network: str  # "12.5GB/s": of steps of several ranks
    processors: str  # "device:1,host:1"
    on: Union[str, Sequence[str]]  # "host:update"
    choices_of: File  # a plan whose kernels and processors all plans are to have
    cache_dir: File  # where measured op times are kept


def option_words(options: Mapping[str, Any]) -> list[str]:
    """`{"batch": 8, "gpu": True, "slow": ["numa:1", "file"]}` as the command's words; None and False are left out."""
    words: list[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):
            words += [word for each in value for word in (option, os.fspath(each) if _is_path(each) else str(each))]
        else:
            words += [option, os.fspath(value) if _is_path(value) else str(value)]
    return words


def together(values: str | Size | Iterable[Size] | None) -> str | None:
    """Several values of one option, as options take them that separate by commas."""
    if values is None or isinstance(values, (str, int)):
        return None if values is None else str(values)
    return ",".join(str(each) for each in values)


def check_settings(function: str, settings: Mapping[str, Any]) -> None:
    """As Python says that a function has no such argument, with the one that may have been meant."""
    for name in settings:
        if name not in Settings.__annotations__:
            near = difflib.get_close_matches(name, list(Settings.__annotations__), 1)
            meant = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'{meant}")


def _is_path(value: Any) -> bool:
    return isinstance(value, os.PathLike)
