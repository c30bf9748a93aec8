#!/usr/bin/env bash
# From a bare Debian 12 or 13 machine to the `sluice` command, build/release/tools/sluice: installs the packages that are
# missing and builds the command without tests. A few minutes the first time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ ${1:-} != -h && ${1:-} != --help ]] || { sed -n '2,3s/^# \{0,1\}//p' "$0"; exit 0; }

# Shows ninja's progress lines ("FINISHED TOTAL RULE") as a count with the time left, one line a tenth. The few steps
# before the real work (looking for new files) are not worth a line.
show_progress() {
  local finished total rest shown=0 start=$SECONDS
  while read -r finished total rest; do
    if [[ ! $finished =~ ^[0-9]+$ || ! $total =~ ^[0-9]+$ ]]; then
      printf '%s %s %s\n' "$finished" "$total" "$rest"
    elif ((total >= 10 && finished * 10 / total > shown)); then
      shown=$((finished * 10 / total))
      printf '      %d of %d files, about %d s left\n' "$finished" "$total" \
        $(((SECONDS - start) * (total - finished) / finished))
    fi
  done
}

echo "Packages"
scripts/install_packages.sh build | sed 's/^/      /'
echo "Building (a few minutes the first time)"
mkdir -p build
if ! cmake --preset release -DSLUICE_BUILD_TESTS=OFF >build/configure.log 2>&1; then
  cat build/configure.log
  exit 1
fi
grep "Report page: no charts" build/configure.log | sed 's/^-- /      /' || true
NINJA_STATUS='%f %t ' cmake --build --preset release --target sluice_command | show_progress
echo "Built: build/release/tools/sluice"
