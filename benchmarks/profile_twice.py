#!/usr/bin/python3
"""What the cache of op times is worth: a `sluice profile` twice, with the time of each.

    profile_twice.py sluice profile resnet200 --batch 16
"""

import subprocess
import sys
import time


def main():
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    for turn in ("first", "second"):
        print(f"{turn} time")
        begin = time.monotonic()
        ran = subprocess.run([*sys.argv[1:], "--top", "3"], stdout=subprocess.PIPE, text=True, check=False)
        if ran.returncode != 0:
            return ran.returncode
        print(f"{ran.stdout}{time.monotonic() - begin:.3f} s in all", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
