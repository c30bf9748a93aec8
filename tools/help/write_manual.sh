#!/usr/bin/env bash
# Writes the manual pages of `sluice` and of its commands, sluice(1), sluice-train(1) ..., from what they say of themselves.
#   write_manual.sh SLUICE FOLDER
set -euo pipefail
sluice=$1 folder=$2
version=$("$sluice" --version)

# page NAME SUMMARY COMMAND
page() { help2man --no-info --version-string "${version#sluice }" --name "$2" --output "$folder/$1.1" "$3"; }

mkdir -p "$folder"
page sluice 'trains neural networks when fast memory is too small' "$sluice"
while read -r command summary; do
  page "sluice-$command" "$summary" "$sluice $command"
done < <("$sluice" --help | sed -n '/^Subcommands:/,/^$/s/^  //p')
