"""Sizes as people write them: "1GiB", "512MB", 1 << 30."""

from __future__ import annotations

import re

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    _UNITS[f"{_letter}iB"] = 1024**_power
    _UNITS[f"{_letter}B"] = 1000**_power


def parse_size(text: str | int) -> int:
    """Bytes of a size; a ValueError says what is wrong with it."""
    if isinstance(text, int):
        size = text
    else:
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
        if match is None or match[2] not in _UNITS:
            raise ValueError(f'"{text}" is no size: write 512MiB, 1.5GiB or a number of bytes')
        size = int(float(match[1]) * _UNITS[match[2]])
    if size <= 0:
        raise ValueError(f"a size of {text}: it has to be above 0")
    return size


def parse_share(text: str | int) -> float | None:
    """0.4 of "40%"; None where it is no percentage."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", text) if isinstance(text, str) else None
    if match is None:
        return None
    share = float(match[1]) / 100
    if not 0 < share <= 1:
        raise ValueError(f"{text}: a share is above 0 and at most 100%")
    return share
