"""Folders for models and their weights that are gone with this process, however that ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from typing import Iterator

_ends: set[int] = set()  # of the pipes that watchers read from


class TemporaryFolder:
    """A folder that is there until it is closed.

    A shell waits for the end of a pipe, which comes with the end of this process (kill -9, too), and removes the folder.
    Children of the process neither keep nor remove it.
    """

    def __init__(self, within: str | None = None):
        self.name = tempfile.mkdtemp(prefix="sluice-", dir=within)
        self._process = os.getpid()
        self._hidden: dict[str, int] = {}  # descriptors by name
        reading, self._end = os.pipe()
        _ends.add(self._end)
        try:
            self._watcher = subprocess.Popen(["/bin/sh", "-c", 'read -r _; rm -rf -- "$0"', os.path.abspath(self.name)], cwd="/",
                                             stdin=reading, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        except BaseException:
            self._close_end()
            os.rmdir(self.name)
            raise
        finally:
            os.close(reading)

    def hide(self) -> None:
        """Its files lose their names: where the process is killed, nothing is left, not even for a moment."""
        for name in os.listdir(self.name):
            path = os.path.join(self.name, name)
            self._hidden[path] = os.open(path, os.O_RDONLY)
            os.unlink(path)

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """What is hidden is there again, for a while."""
        try:
            for path, descriptor in self._hidden.items():
                shutil.copyfile(f"/proc/self/fd/{descriptor}", path)
            yield
        finally:
            for path in self._hidden:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)

    def _close_end(self) -> None:
        _ends.discard(self._end)
        os.close(self._end)

    def close(self) -> None:
        """Once."""
        if self._process != os.getpid():
            return
        shutil.rmtree(self.name, ignore_errors=True)
        while self._hidden:
            os.close(self._hidden.popitem()[1])
        self._close_end()
        self._watcher.wait()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *exception: object) -> None:
        self.close()


def _forget() -> None:
    """In a child: as long as it lived, the end of its parent would go unseen."""
    for end in _ends:
        os.close(end)
    _ends.clear()


os.register_at_fork(after_in_child=_forget)
