"""The `sluice` command, and the JSON that it writes."""

import json
import os
import subprocess
import sys
import tempfile


def json_of(command, option="--json"):
    """What the command writes with this option; ends the script where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        command = [*map(str, command), option, path]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"{os.path.basename(sys.argv[0])}: {' '.join(command)}\n{ran.stderr}")
        with open(path) as file:
            return json.load(file)
