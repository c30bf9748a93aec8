#!/usr/bin/python3
"""A command while something else writes to the disk: 2 GiB again and again, past the page cache, from half a minute on.

    busy_disk.py --load FILE [--after SECONDS] COMMAND...

    busy_disk.py --load build/load sluice train resnet50 --batch 16 --fast 20% --steps 70 --spill-dir build

FILE is on the disk to be kept busy and is removed at the end. The status is the command's.
"""

import argparse
import os
import subprocess
import sys
import threading

WRITE = ["dd", "if=/dev/zero", "bs=8M", "count=256", "oflag=direct", "status=none"]


def keep_busy(path, after, ended):
    """Writes until the event."""
    while not ended.wait(after):
        after = 0
        writer = subprocess.Popen([*WRITE, f"of={path}"])
        while writer.poll() is None:
            if ended.wait(0.1):
                writer.kill()
                writer.wait()
        if writer.returncode > 0:
            print(f"busy_disk: dd ended with {writer.returncode}: the disk is not kept busy", file=sys.stderr)
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--load", required=True)
    parser.add_argument("--after", type=float, default=30)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("which command?")
    ended = threading.Event()
    busy = threading.Thread(target=keep_busy, args=(arguments.load, arguments.after, ended))
    busy.start()
    try:
        return subprocess.run(arguments.command, check=False).returncode
    finally:
        ended.set()
        busy.join()
        if os.path.exists(arguments.load):
            os.remove(arguments.load)


if __name__ == "__main__":
    sys.exit(main())
