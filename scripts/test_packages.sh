#!/usr/bin/env bash
# Installs Debian packages (scripts/package.sh) in a Debian that has nothing, no compiler either: the demo's table and Python's
# example have to come of it; an upgrade has to replace them and a removal to leave nothing.
#
#   scripts/test_packages.sh RELEASE PACKAGE.deb...    bookworm or trixie
#
# Needs root, debootstrap and Debian's packages; exit status 77 with the reason where it has not got them.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help || $# -lt 2 ]]; then sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0; fi
release=$1
shift
((EUID == 0)) && unshare --mount true 2>/dev/null || { echo "test_packages: skipped: it needs root and mounts"; exit 77; }
command -v debootstrap >/dev/null || { echo "test_packages: skipped: no debootstrap"; exit 77; }

bare=${SLUICE_PLATFORMS:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice/platforms}/$release.bare
if [[ ! -e $bare/etc/laid ]]; then
  rm -rf "$bare"
  mkdir -p "$bare"
  debootstrap --variant=minbase "$release" "$bare" >"$bare.log" 2>&1 || { tail -n 20 "$bare.log"; exit 77; }
  touch "$bare/etc/laid"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{upper,inner,root,packages}
cp "$@" "$work/packages"

cat >"$work/inside" <<'INSIDE'
set -euo pipefail
listing() { find / -xdev \( -path /proc -o -path /packages -o -path /tmp -o -path /root -o -path /var -o -path /run \) -prune -o -print | sort; }
apt-get update -qq
start=$SECONDS
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /packages/sluice_*.deb >/dev/null
echo "installed in $((SECONDS - start)) s"
command -v c++ >/dev/null && { echo "there is a compiler"; exit 1; }
sluice --version
sluice compare resnet50 --batch 16 --fast 20% --planners fast-only,on-demand,sentinel,joint --steps 7 --starts 1 | tee /tmp/table
echo "from the package to the demo's table: $((SECONDS - start)) s"
grep -q "^joint .* same$" /tmp/table

listing >/tmp/before
if ls /packages/python3-sluice_*.deb >/dev/null 2>&1; then
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /packages/python3-sluice_*.deb python3-torch >/dev/null
  cat >/tmp/example.py <<'PYTHON'
import torch
import sluice

x = torch.randn(256, 4096)
model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(4096, 64), torch.nn.Linear(64, 4096), torch.nn.GELU()) for _ in range(6)])

def gradients():
    model.zero_grad()
    model(x).sum().backward()
    return [each.grad.clone() for each in model.parameters()]

plain = gradients()
budget = sluice.Offload(fast="40MiB", to="/tmp")
for _ in range(3):
    with budget:
        assert all(torch.equal(one, other) for one, other in zip(plain, gradients()))
print("offloaded", budget.last.left > 0, bool(sluice.plan("resnet20", fast="50%")))
PYTHON
  python3 -W ignore /tmp/example.py
fi

for package in /packages/*.deb; do  # the next version
  dpkg-deb -R "$package" /tmp/unpacked
  sed -i 's/^Version: \(.*\)/Version: \1+next/; s/sluice (= \([^)]*\))/sluice (= \1+next)/' /tmp/unpacked/DEBIAN/control
  dpkg-deb --root-owner-group -b /tmp/unpacked "/tmp/$(basename "$package" .deb)+next.deb" >/dev/null
  rm -rf /tmp/unpacked
done
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq /tmp/*+next.deb >/dev/null
dpkg-query -W -f '${Package} ${Version}\n' '*sluice*'
sluice --version >/dev/null
apt-get purge -y -qq sluice >/dev/null 2>&1
left=$(find / -xdev \( -path /proc -o -path /packages -o -path /tmp -o -path /root -o -path /var -o -path /inside \) -prune -o -name '*sluice*' -print)
[[ -z $left ]] || { echo "left behind: $left"; exit 1; }
echo "removed without a trace"
INSIDE
# shellcheck disable=SC2016
unshare --mount bash -c '
  set -e
  mount -t tmpfs none "$1/upper" && mkdir "$1/upper/files" "$1/upper/work"
  mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper/files,workdir=$1/upper/work" "$1/root"
  mount --rbind /dev "$1/root/dev" && mount --rbind /sys "$1/root/sys" && mount -t proc proc "$1/root/proc"
  cp -L /etc/resolv.conf /etc/hosts "$1/root/etc/"
  cp -r "$1/packages" "$1/inside" "$1/root/"
  exec chroot "$1/root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${http_proxy:+http_proxy=$http_proxy} bash /inside
' test_packages "$work" "$bare"
