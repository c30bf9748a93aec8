#!/usr/bin/env bash
# Fetches a Debian kernel for tests/numa/run_in_vm.sh and unpacks it into build/numa-vm. Nothing is installed.
#
# Does nothing when there is one. Exit 1, with the reason, where there is no apt or no network.
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/numa-vm
if compgen -G "$folder/*/boot/vmlinuz-*" >/dev/null; then
  echo "fetch_kernel: there is one in $folder"
  exit 0
fi
command -v apt-get >/dev/null || { echo "fetch_kernel: this machine has no apt" >&2; exit 1; }

# The backported kernel where it is known, otherwise Debian's own; both names stand for the newest version.
for name in linux-image-6.12-cloud-amd64 linux-image-cloud-amd64; do
  package=$(apt-cache depends "$name" 2>/dev/null | awk '/Depends:/{print $2; exit}')
  [[ -n $package ]] && break
done
[[ -n $package ]] || { echo "fetch_kernel: apt knows no cloud kernel (apt-get update)" >&2; exit 1; }

mkdir -p "$folder"
cd "$folder"
apt-get -o Acquire::Retries=0 -o Acquire::http::Timeout=20 download -qq "$package" || { echo "fetch_kernel: $package cannot be downloaded" >&2; exit 1; }
dpkg -x "$package"_*.deb "unpacking"
rm -f "$package"_*.deb
mv unpacking "$package"
echo "fetch_kernel: $(ls "$folder/$package"/boot/vmlinuz-*)"
