"""Runs the `sluice` command and gives back its JSON document (docs/json.md).

A process of its own: its kernels, threads and memory do not meet PyTorch's. It ends with this one, and Ctrl-C is passed on to
it. Nothing of PyTorch is imported.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from typing import Any, Sequence

from sluice.errors import SluiceError
from sluice.finding import find_command
from sluice.progress import Messages, columns
from sluice.settings import File

INTERRUPTED = 130  # exit status


def run_command(words: Sequence[str], *, quiet: bool = False, json_file: File | None = None) -> dict[str, Any]:
    """The document of `sluice WORDS`.

    Args:
        words: the command's name and its arguments, without --json.
        quiet: show neither progress nor notes.
        json_file: a file that gets the document, too; of a run that is interrupted, what was finished.

    Raises:
        SluiceError: the command failed.
        KeyboardInterrupt: on Ctrl-C, once the command has ended.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        path = os.path.join(folder, "document.json")
        look = ["--quiet"] if quiet else []
        messages = Messages(sys.stderr)
        try:
            status = _attend([find_command(), "--colour", "never", *look, *words, "--json", path], messages)
        finally:
            messages.close()
            if json_file is not None and os.path.exists(path):
                shutil.copyfile(path, json_file)
        document = _read(path)
    if document is None or "error" in document:
        raise _error(document, messages, status)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return document


def _attend(words: list[str], messages: Messages) -> int:
    """Runs the program to its end; its exit status."""
    ours, theirs = _open_terminal()
    environment = {**os.environ, "SLUICE_PARENT": str(os.getpid())}
    if environment.get("TERM", "dumb") in ("", "dumb"):
        environment["TERM"] = "xterm"
    try:
        # A session of its own: Ctrl-C in a terminal reaches this process alone, which passes it on once.
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        try:
            _read_all(ours, messages)
            return child.wait()
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            _read_all(ours, messages)
            child.wait()
            raise
    finally:
        if child.poll() is None:  # a second Ctrl-C, or an error of ours
            child.kill()
            child.wait()
        os.close(ours)


def _open_terminal() -> tuple[int, int]:
    """Two ends for standard error; a pipe where the system has no pseudo-terminals, and progress is not shown."""
    try:
        ours, theirs = os.openpty()
    except OSError:
        return os.pipe()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns(), 0, 0))
    return ours, theirs


def _read_all(descriptor: int, messages: Messages) -> None:
    while True:
        try:
            data = os.read(descriptor, 1 << 16)
        except OSError:  # EIO: a terminal that nobody has open any more
            return
        if not data:
            return
        messages.feed(data)


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def _error(document: dict[str, Any] | None, messages: Messages, status: int) -> BaseException:
    if document is None:
        said = " ".join(messages.errors) or f"the sluice command ended with status {status} and said nothing"
        return SluiceError(said, "internal")
    error = document["error"]
    if error["kind"] == "interrupted":
        return KeyboardInterrupt()
    return SluiceError(error["message"], error["kind"], error["requested_bytes"], error["available_bytes"])
