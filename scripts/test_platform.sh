#!/usr/bin/env bash
# Builds and tests in another Debian, laid into a folder: by its compiler, its oneDNN, its PyTorch.
#
#   scripts/test_platform.sh [RELEASE [STAGE...]]    trixie (Debian 13), build and tests, by default
#   scripts/test_platform.sh RELEASE packages        its Debian packages, in a bare one (scripts/test_packages.sh)
#   scripts/test_platform.sh RELEASE sh COMMAND      a command there, in the folder of the sources
#
# The folder ($SLUICE_PLATFORMS, or ~/.cache/sluice/platforms, and the release's name in it) is used again where it is there
# already, with its build. Needs root, debootstrap (installed where it is missing) and Debian's packages; exit status 77
# with the reason where it has not got them. Ends with the stages' `N passed, N failed`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${1:-} == -h || ${1:-} == --help ]]; then sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0; fi
release=${1:-trixie}
shift || true
(($#)) || set -- build tests

skip() { echo "test_platform: skipped: $*"; exit 77; }
((EUID == 0)) || skip "laying a Debian into a folder needs root"
unshare --mount true 2>/dev/null || skip "this machine lets nobody mount anything"
if ! command -v debootstrap >/dev/null; then
  apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null || skip "no debootstrap"
fi

root=${SLUICE_PLATFORMS:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice/platforms}/$release
if [[ ! -e $root/etc/laid ]]; then
  rm -rf "$root"
  mkdir -p "$root"
  log=$root.log
  echo "Laying Debian $release into $root"
  debootstrap --variant=minbase --include=ca-certificates "$release" "$root" >"$log" 2>&1 ||
    { tail -n 20 "$log"; skip "debootstrap could not lay $release"; }
  touch "$root/etc/laid"
fi

# What the machine knows of its network holds there as well.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true

# The sources: what is no longer there goes, and only what differs is copied, so that only that is built again.
mkdir -p "$root/sluice"
wanted=$(mktemp)
git ls-files --cached --others --exclude-standard | while IFS= read -r file; do [[ ! -f $file ]] || echo "$file"; done | sort >"$wanted"
(cd "$root/sluice" && find . -path ./build -prune -o -type f -printf '%P\n' | sort) | comm -13 "$wanted" - |
  while IFS= read -r file; do rm -f "$root/sluice/$file"; done
while IFS= read -r file; do
  cmp -s "$file" "$root/sluice/$file" || install -D --mode="$(stat -c %a "$file")" "$file" "$root/sluice/$file"
done <"$wanted"
rm -f "$wanted"

case $1 in
  sh) inside=$2 ;;
  packages) inside=scripts/package.sh ;;
  *) inside="scripts/install_packages.sh test && scripts/test.sh $*" ;;
esac
# shellcheck disable=SC2016
unshare --mount bash -c '
  set -e
  mount --rbind /dev "$1/dev"
  mount --rbind /sys "$1/sys"
  mount -t proc proc "$1/proc"
  exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8 NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt ${http_proxy:+http_proxy=$http_proxy} \
    ${https_proxy:+https_proxy=$https_proxy} \
    bash -c "cd /sluice && update-ca-certificates >/dev/null 2>&1; $2"
' test_platform "$root" "$inside"
if [[ $1 == packages ]]; then exec scripts/test_packages.sh "$release" "$root"/sluice/build/packages/*.deb; fi
