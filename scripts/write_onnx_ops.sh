#!/usr/bin/env bash
# Writes the table of ONNX ops into docs/onnx.md from the importer's own table, between its two marks.
#
#   scripts/write_onnx_ops.sh [--check] [PROGRAM]   PROGRAM: what prints it (default: build/release/tests/onnx/onnx_ops)
#
# --check changes nothing and fails where the document is older than the importer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly document=docs/onnx.md

check=
if [[ ${1:-} == --check ]]; then
  check=yes
  shift
fi
written=$(mktemp)
trap 'rm -f "$written"' EXIT
"${1:-build/release/tests/onnx/onnx_ops}" | awk -v document="$document" '
  { table = table $0 "\n" }
  END {
    while ((getline line < document) > 0) {
      if (line ~ /^<!-- end of ONNX ops -->/) skipping = 0
      if (!skipping) print line
      if (line ~ /^<!-- ONNX ops:/) { skipping = 1; printf "|  |  |\n|---|---|\n%s", table }
    }
  }' >"$written"
if [[ -n $check ]]; then
  diff -u "$document" "$written" >&2 || { echo "$document is older than the importer; run scripts/write_onnx_ops.sh" >&2; exit 1; }
else
  cat "$written" >"$document"
fi
