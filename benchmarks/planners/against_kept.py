#!/usr/bin/python3
"""Fails where a planner's plan has become slower than its kept row in docs/results.

    against_kept.py PLANNER_TABLE ARGUMENT...     the built program, and its arguments but --against
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from reproducing.records import numbers  # noqa: E402


def main():
    rows = [row for row in numbers("planners")["rows"] if "slowdown" in row]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as kept:
        json.dump({"rows": rows}, kept)
        kept.flush()
        return subprocess.run([*sys.argv[1:], "--against", kept.name], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
