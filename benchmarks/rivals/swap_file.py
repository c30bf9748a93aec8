"""A swap file of our own, which the kernel uses before any other swap. Needs root."""

import os
import subprocess
import sys

from memory_cgroup import Unavailable

HIGHEST_PRIORITY = "32767"


class SwapFile:
    """Nothing exists before make(). remove() is for any state, also that of a make() which was interrupted."""

    def __init__(self, folder, size):
        self.path = os.path.join(os.path.realpath(folder), f"kernel-swap-{os.getpid()}")
        self.size = size

    def make(self):
        try:
            with open(self.path, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                os.posix_fallocate(file.fileno(), 0, self.size)
        except OSError as error:
            raise Unavailable(f"no swap file of {self.size >> 20} MiB at {self.path}: {error.strerror}") from error
        run("mkswap", self.path)
        run("swapon", "--priority", HIGHEST_PRIORITY, self.path)

    def remove(self):
        try:
            if self.in_use():
                run("swapoff", self.path)
        except Unavailable as failure:
            print(f"left behind: a swap file in use: {failure}; swapoff and remove {self.path}", file=sys.stderr)
            return
        if os.path.exists(self.path):
            os.unlink(self.path)

    def in_use(self):
        with open("/proc/swaps") as swaps:
            return any(line.split()[0] == self.path for line in swaps)


def run(*command):
    environment = {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError as error:
        raise Unavailable(f"{command[0]} is not installed (Debian: mount, util-linux)") from error
    if outcome.returncode != 0:
        raise Unavailable(f"{' '.join(command)}: {outcome.stderr.strip() or f'status {outcome.returncode}'}")


def swap_traffic():
    """Bytes that the kernel has swapped in and out since it started, and huge pages it moved whole or had to split."""
    with open("/proc/vmstat") as file:
        counts = dict(line.split() for line in file)
    page = os.sysconf("SC_PAGE_SIZE")
    return {"in_bytes": int(counts["pswpin"]) * page, "out_bytes": int(counts["pswpout"]) * page,
            "huge_pages_whole": int(counts.get("thp_swpout", 0)),
            "huge_pages_split": int(counts.get("thp_swpout_fallback", 0))}
