#!/usr/bin/env bash
# Runs a program inside a small virtual machine with several memory nodes, which few machines have, and ends as it ends.
#
#   tests/numa/run_in_vm.sh [--no-hmat] [--add PATH]... PROGRAM [ARG...]
#
# PROGRAM and every PATH are packed into an initramfs at their own places, with the shared libraries they need; a Debian
# kernel is booted on it under QEMU's software emulation. No root, no network, no disk image. About 5 s besides the
# program, which is many times slower in there than here: times inside mean nothing.
#
# The machine: three processors and 1280 MiB on node 0, 1 GiB on node 1 and 128 MiB on node 2, both without processors;
# firmware (an HMAT table) tells their latencies and bandwidths. With --no-hmat it does not, one of the processors is on
# node 1, which has no memory, and the memory without processors is on nodes 2 and 3. PROGRAM runs on the first two.
#
# Exit status: PROGRAM's; 77, with the reason, where something that is needed is not installed (CTest: skipped); 124 when
# the machine ran too long; 125 when it broke down. Kernel: $SLUICE_NUMA_KERNEL, or the newest of those that
# tests/numa/fetch_kernel.sh has put into build/numa-vm and of /boot.
set -uo pipefail

readonly time_limit=${SLUICE_NUMA_TIMEOUT:-900}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

skip() { echo "run_in_vm: skipped: $*"; exit 77; }
fail() { echo "run_in_vm: $*" >&2; exit 125; }

added=() hmat=on
while [[ ${1:-} == --* ]]; do
  case $1 in
    --no-hmat) hmat=off; shift ;;
    --add) added+=("$(realpath -s "$2")"); shift 2 ;;
    *) sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
(($#)) || { echo "run_in_vm: no program given" >&2; exit 2; }
program=$(realpath -s "$1")
shift

for tool in qemu-system-x86_64 cpio; do
  command -v "$tool" >/dev/null || skip "$tool is not installed (scripts/install_packages.sh test)"
done
busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1 ||
  skip "there is no static busybox (Debian: busybox-static)"
kernel=${SLUICE_NUMA_KERNEL:-$(ls -1 "$root"/build/numa-vm/*/boot/vmlinuz-* /boot/vmlinuz-*-amd64 2>/dev/null |
  awk -F'vmlinuz-' '{print $NF "\t" $0}' | sort -V | tail -n 1 | cut -f 2)}
[[ -r $kernel ]] || skip "there is no kernel to boot; tests/numa/fetch_kernel.sh fetches one (it needs the network)"

work=$(mktemp -d) || fail "no temporary folder"
trap 'rm -rf "$work"' EXIT
guest=$work/root
mkdir -p "$guest"/{proc,sys,dev,tmp,root,etc,vm}
for folder in bin sbin lib lib64; do  # as on the host, where these may be links into /usr
  if [[ -L /$folder ]]; then
    ln -s "$(readlink "/$folder")" "$guest/$folder"
    mkdir -p "$guest/$(readlink "/$folder")"
  else
    mkdir -p "$guest/$folder"
  fi
done

# pack PATH: at the same place, and what it links to.
pack() {
  [[ -e $guest$1 ]] && return
  mkdir -p "$guest$(dirname "$1")"
  # What a link leads to under the link's name: there may be several links on the way (Debian's alternatives).
  cp -aL --no-preserve=ownership "$1" "$guest$1" || fail "cannot pack $1"
}
# libgcc_s: threads that are cancelled load it by name.
libraries=$({ ldd "$program" ${added[@]+"${added[@]}"} 2>/dev/null | awk '$2 == "=>" {print $3} $1 ~ /^\// && !/:$/ {print $1}'
  PATH=$PATH:/sbin ldconfig -p | awk '/libgcc_s\.so\.1 /{print $NF; exit}'; } | sort -u)
for path in "$program" ${added[@]+"${added[@]}"} $libraries; do pack "$path"; done
cp "$busybox" "$guest/bin/busybox"
ln -sf busybox "$guest/bin/sh"
echo 'root:x:0:0:root:/root:/bin/sh' >"$guest/etc/passwd"

{
  echo '#!/bin/sh'
  echo 'export HOME=/root PATH=/bin:/sbin TMPDIR=/tmp'
  printf 'exec taskset 3'
  printf ' %q' "$program" "$@"
  echo
} >"$guest/vm/command"
# Automatic balancing, demotion and compaction would move pages behind a test's back. Output goes through a pipe: nothing
# is lost at power-off.
cat >"$guest/init" <<'EOF'
#!/bin/sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
ln -sf /proc/self/fd /dev/fd
for port in 1 2; do stty -F /dev/ttyS$port raw -echo -opost 115200; done
echo 0 >/proc/sys/kernel/numa_balancing
echo false >/sys/kernel/mm/numa/demotion_enabled
echo 0 >/proc/sys/vm/compaction_proactiveness
echo started >/dev/ttyS2
mkfifo /vm/output; cat /vm/output >/dev/ttyS1 & reader=$!
sh /vm/command >/vm/output 2>&1 </dev/null; status=$?
wait $reader
echo "status $status" >/dev/ttyS2
sync; poweroff -f
EOF
chmod 755 "$guest/init"
(cd "$guest" && find . | cpio --create --format=newc --owner=0:0 --quiet) >"$work/initramfs" || fail "cannot pack"
rm -rf "$guest"

sizes=(1280 1024 128) latencies=(90 200 340) bandwidths=(34G 19G 4G)  # MiB, ns, bytes per second
machine=q35,hmat=$hmat nodes=()
place() {  # place I NODE [PROCESSORS]: memory I at this node
  local about="initiator=0,target=$2,hierarchy=memory" near=${3:+,cpus=$3}
  [[ $hmat == on ]] && near+=,initiator=0
  nodes+=(-object "memory-backend-ram,id=memory$1,size=${sizes[$1]}M" -numa "node,nodeid=$2,memdev=memory$1$near")
  [[ $hmat == off ]] || nodes+=(-numa "hmat-lb,$about,data-type=access-latency,latency=${latencies[$1]}"
    -numa "hmat-lb,$about,data-type=access-bandwidth,bandwidth=${bandwidths[$1]}")
}
if [[ $hmat == on ]]; then
  place 0 0 0-2
  place 1 1
  place 2 2
  count=3
else  # the kernel numbers nodes with processors first
  place 0 0 0-1
  nodes+=(-numa node,nodeid=1,cpus=2)
  place 1 2
  place 2 3
  count=4
fi
for ((i = 0; i < count; i++)); do
  for ((j = i + 1; j < count; j++)); do
    nodes+=(-numa "dist,src=$i,dst=$j,val=$((10 + 10 * j))" -numa "dist,src=$j,dst=$i,val=$((10 + 10 * j))")
  done
done

# One thread of emulation: several now and then break the guest while it boots. It may be booted again until it starts.
for attempt in 1 2 3; do
  timeout -k 5 "$time_limit" qemu-system-x86_64 -M "$machine" -accel tcg,thread=single -cpu max -smp 3,sockets=3 -m 2432M \
    "${nodes[@]}" -kernel "$kernel" -initrd "$work/initramfs" -nodefaults -display none -no-reboot \
    -serial "file:$work/console" -serial "file:$work/output" -serial "file:$work/control" \
    -append "console=ttyS0 quiet panic=-1 rdinit=/init rootfstype=ramfs 8250.nr_uarts=4" </dev/null 2>"$work/qemu"
  emulator=$?
  grep -qs started "$work/control" && break
  ((emulator == 124)) && break
done
cat "$work/output" 2>/dev/null
status=$(sed -n 's/^status \([0-9]*\).*/\1/p' "$work/control" 2>/dev/null)
[[ -n $status ]] && exit "$status"
((emulator == 124)) && { echo "run_in_vm: stopped after $time_limit s" >&2; exit 124; }
cat "$work/qemu" "$work/console" >&2
fail "the machine ended without a word from the program (QEMU: $emulator)"
