#!/usr/bin/env bash
# Writes the table of planners into docs/planners.md from what they declare about themselves, between its two marks.
#
#   scripts/write_planners.sh [SLUICE]   SLUICE: the command (default: build/release/tools/sluice)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly document=docs/planners.md

written=$(mktemp)
trap 'rm -f "$written"' EXIT
"${1:-build/release/tools/sluice}" planners --markdown | awk -v document="$document" '
  { table = table $0 "\n" }
  END {
    while ((getline line < document) > 0) {
      if (line ~ /^<!-- end of planners -->/) skipping = 0
      if (!skipping) print line
      if (line ~ /^<!-- planners:/) { skipping = 1; printf "%s", table }
    }
  }' >"$written"
cat "$written" >"$document"
