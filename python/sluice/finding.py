"""Where the `sluice` command is."""

from __future__ import annotations

import os
import shutil
import sys

from sluice.errors import SluiceError

PACKAGE = os.path.dirname(os.path.abspath(__file__))
INSTALLED = os.path.join(PACKAGE, "bin", "sluice")  # by pip (setup.py)
BUILT = os.path.normpath(os.path.join(PACKAGE, "../../tools/sluice"))  # beside build/release/python/sluice
VARIABLE = "SLUICE_COMMAND"


def find_command() -> str:
    """The command's path: what $SLUICE_COMMAND names, what came with the package, or what is on PATH."""
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise SluiceError(f"${VARIABLE} names {named}, and there is no such program", "bad-input")
        return found
    for path in (INSTALLED, BUILT):
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("sluice")
    if found is None:
        raise SluiceError(
            f"there is no sluice command: it is not beside the package ({PACKAGE}), nor on PATH; build it"
            f" (scripts/build.sh), or name it in ${VARIABLE}",
            "unsupported",
        )
    return found


def main() -> None:
    """The command itself, as pip installs it."""
    command = INSTALLED if os.access(INSTALLED, os.X_OK) else BUILT  # what is on PATH is this function
    os.execv(command, [command, *sys.argv[1:]])
