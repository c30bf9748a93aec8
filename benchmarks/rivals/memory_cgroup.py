"""Caps the physical memory of a process by a memory control group of the kernel, version 1 or 2.

The group is a child of our own where version 1 rules, and of the hierarchy's root under version 2 (a group there that
has processes may not give its children a memory limit). What it counts: anonymous pages and page cache that its
processes touch first, and kernel memory of theirs; swapped pages are not limited. Needs root.
"""

import contextlib
import os
import signal
import sys
import threading
import time

RETRY_SECONDS = 0.002


class Unavailable(Exception):
    """Something that this machine lacks or does not permit; says what."""


class MemoryCgroup:
    """Nothing exists before make(). remove() is for any state; the group's processes must have ended by then."""

    def __init__(self, name, mountinfo="/proc/self/mountinfo", membership="/proc/self/cgroup"):
        with open(mountinfo) as mounts, open(membership) as groups:
            self.version, self.parent = find_parent(mounts.read(), groups.read())
        self.path = os.path.join(self.parent, f"{name}-{os.getpid()}")
        self.retries = 0

    def make(self):
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise Unavailable(f"no memory control group can be made in {self.parent}: {error.strerror}") from error
        if not os.path.exists(self.file("memory.max", "memory.limit_in_bytes")):
            raise Unavailable(f"groups in {self.parent} have no memory limit: its cgroup.subtree_control lacks memory")

    def remove(self):
        for attempt in range(50):  # the last process may still be on its way out
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.02 * (attempt + 1))
        print(f"left behind: the empty control group {self.path}; remove it with rmdir", file=sys.stderr)

    def file(self, name_in_2, name_in_1):
        return os.path.join(self.path, name_in_2 if self.version == 2 else name_in_1)

    def limit(self, size):
        """From now on at most `size` bytes."""
        try:
            write(self.file("memory.max", "memory.limit_in_bytes"), size)
        except OSError as error:
            raise Unavailable(f"no limit can be set for {self.path}: {error.strerror}") from error

    def enter(self):
        """Moves the calling process in. For Popen's preexec_fn."""
        write(os.path.join(self.path, "cgroup.procs"), os.getpid())

    def wait_for_memory(self):
        """Lets processes wait for memory where the kernel would end one, and has them try again soon. Version 1 only.

        In a group that swaps all the time the kernel may give up on finding memory although swap is free. Under version
        2 nothing of this can be had, and a process is ended then.
        """
        if self.version == 1:
            write(os.path.join(self.path, "memory.oom_control"), 1)
            threading.Thread(target=self.wake_who_waits, daemon=True).start()

    def wake_who_waits(self):
        """What wakes them is a higher limit: a page more for a moment. Ends with the group."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # the main thread's
        limit = os.path.join(self.path, "memory.limit_in_bytes")
        with contextlib.suppress(OSError):
            while True:
                time.sleep(RETRY_SECONDS)
                if "under_oom 1" in read(os.path.join(self.path, "memory.oom_control")):
                    self.retries += 1
                    size = int(read(limit))
                    write(limit, size + os.sysconf("SC_PAGE_SIZE"))
                    self.insist(limit, size)

    @staticmethod
    def insist(limit, size):
        """Lowers the limit, however often the kernel fails to make room for that."""
        while int(read(limit)) > size:
            with contextlib.suppress(OSError):
                write(limit, size)

    def peak(self):
        """Most bytes that the group has held at once; None where the kernel does not tell (2 before Linux 5.19)."""
        with contextlib.suppress(OSError):
            return int(read(self.file("memory.peak", "memory.max_usage_in_bytes")))
        return None


def find_parent(mountinfo, membership):
    """Version, and the folder in which groups are to be made, from /proc/self/mountinfo and /proc/self/cgroup."""
    unified = None
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        root, mount = fields.split()[3:5]
        kind, _, options = rest.split()[:3]
        if kind == "cgroup" and "memory" in options.split(","):
            return 1, os.path.normpath(os.path.join(mount, os.path.relpath(own_group(membership), root)))
        if kind == "cgroup2":
            unified = mount
    if unified is None:
        raise Unavailable("no control groups are mounted")
    return 2, unified


def own_group(membership):
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return path
    return "/"


def read(path):
    with open(path) as file:
        return file.read()


def write(path, value):
    with open(path, "w") as file:
        file.write(str(value))
