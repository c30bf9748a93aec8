#!/usr/bin/env bash
# Writes the table of rooms into docs/architecture.md from cmake/rooms.txt, between its two marks.
#
#   scripts/write_rooms.sh           writes it
#   scripts/write_rooms.sh --check   changes nothing; exit 1 where the document says something else than the table
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly document=docs/architecture.md

rows() {
  echo "| room | what it is | start reading at | may include, besides \`base\` |"
  echo "|---|---|---|---|"
  local room includes what start
  while IFS='|' read -r room _ includes what start; do
    read -r room <<<"$room"; read -r includes <<<"$includes"; read -r what <<<"$what"; read -r start <<<"$start"
    echo "| \`sluice/$room\` | $what | $start | ${includes/#-/} |"
  done < <(grep '^[a-z]' cmake/rooms.txt)
}

written=$(mktemp)
trap 'rm -f "$written"' EXIT
rows | awk -v document="$document" '
  { table = table $0 "\n" }
  END {
    while ((getline line < document) > 0) {
      if (line ~ /^<!-- end of rooms -->/) skipping = 0
      if (!skipping) print line
      if (line ~ /^<!-- rooms:/) { skipping = 1; printf "%s", table }
    }
  }' >"$written"

case ${1:-} in
  --check)
    if ! diff -u "$document" "$written"; then
      echo "write_rooms: $document is not what cmake/rooms.txt says; run scripts/write_rooms.sh" >&2
      exit 1
    fi
    ;;
  "") cat "$written" >"$document" ;;
  *) echo "usage: scripts/write_rooms.sh [--check]" >&2; exit 2 ;;
esac
