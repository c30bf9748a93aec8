"""What the command says while it works: a line of progress, rewritten in place, and notes.

The command believes that it is on a terminal, so that it shows how far it is at once; what that looks like here is decided
by where standard error goes: a terminal, a notebook or a log.
"""

from __future__ import annotations

import codecs
import os
import shutil
import sys
import time
from typing import TextIO

CLEAR = "\r\x1b[K"  # before each line of progress that the command shows, and to wipe the last one off
PREFIX = "sluice: "
SAID = ("note:", "warning:", "info:", "debug:")  # all else with the prefix is an error, which becomes an exception
LOG_PERIOD = 10  # seconds between lines of progress where none can be rewritten


def in_notebook() -> bool:
    """Whether this is a Jupyter kernel, whose standard error is no terminal and takes carriage returns all the same."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns if sys.stderr.isatty() else 100


class Messages:
    """Takes what the command writes to standard error and shows what is for people."""

    def __init__(self, out: TextIO):
        self._out = out
        terminal = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._live = terminal or in_notebook()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._width = 0  # of the progress that is shown
        self._logged = time.monotonic()
        self.errors: list[str] = []

    def feed(self, data: bytes) -> None:
        self._pending += self._decoder.decode(data)
        *lines, self._pending = self._pending.split("\n")
        for line in lines:
            self._take(line)
        progress = self._pending.rpartition(CLEAR)[2]
        if CLEAR in self._pending and not progress.startswith(("\r", "\x1b")):
            self._show(progress)
            self._pending = CLEAR + progress

    def close(self) -> None:
        if CLEAR not in self._pending:  # a line that was not ended
            self._take(self._pending)
        self._pending = ""
        self._show("")

    def _take(self, line: str) -> None:
        line = line.rpartition(CLEAR)[2].strip("\r")
        if not line:
            return
        if self.errors and not line.startswith(PREFIX):  # an error of several lines
            self.errors[-1] += "\n" + line
            return
        if line.startswith(PREFIX) and not line[len(PREFIX) :].startswith(SAID):
            self.errors.append(line[len(PREFIX) :])
            return
        self._show("")
        self._write(line + "\n")

    def _show(self, progress: str) -> None:
        if self._live:
            text = "\r" + progress.ljust(self._width) if progress or self._width else ""
            self._write(text + ("" if progress or not self._width else "\r"))
            self._width = len(progress)
        elif progress and time.monotonic() - self._logged >= LOG_PERIOD:
            self._logged = time.monotonic()
            self._write(PREFIX + progress + "\n")

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
