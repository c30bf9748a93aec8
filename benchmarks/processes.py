"""What the scripts here share: their options, programs that they start, JSON that they read and write."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOK_TOO_LONG = 124  # as coreutils' timeout has it


def parser_of(doc):
    """With the options that all have; a script adds its own."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--sluice", "--binary", default=os.path.join(ROOT, "build/release/tools/sluice"), help="the command")
    parser.add_argument("--spill-dir", default=os.path.join(ROOT, "build"), help="for large files (default %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the results to this file, too")
    return parser


def spread(values):
    return {"least": min(values), "median": statistics.median(values), "most": max(values)}


def write_json(path, document):
    """Where a path was given."""
    if path:
        with open(path, "w") as file:
            file.write(json.dumps(document, indent=1) + "\n")


def run(command, timeout=None, **more):
    """What became of it: `returncode`, and as texts `stdout` and `stderr`."""
    command = list(map(str, command))
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, TOOK_TOO_LONG, "", f"took more than {timeout} s")


def run_well(command, **more):
    """The same; ends the script where it fails."""
    ran = run(command, **more)
    if ran.returncode != 0:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {' '.join(map(str, command))}\n{ran.stderr or ran.stdout}")
    return ran


def answer_of(command, option="--json", by=run):
    """What the command writes with this option, or None, and what became of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        ran = by([*command, option, path])
        if ran.returncode != 0:
            return None, ran
        with open(path) as file:
            return json.load(file), ran


def json_of(command, option="--json"):
    """What the command writes with this option; ends the script where it fails."""
    return answer_of(command, option, run_well)[0]
