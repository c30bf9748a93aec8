#!/usr/bin/env bash
# Installs the packages of Debian 12 or 13 that Sluice is built from. Does nothing when they are all there.
#
#   scripts/install_packages.sh          what the build needs
#   scripts/install_packages.sh test     the same, and what scripts/test.sh needs
#   scripts/install_packages.sh soak     the same, and what scripts/fuzz.sh needs (clang)
#   scripts/install_packages.sh package  the same as build, and what scripts/package.sh needs
#   scripts/install_packages.sh rivals   what benchmarks/rivals needs (PyTorch)
set -euo pipefail

# ocl-icd-opencl-dev: libdnnl-dev's CMake package looks for OpenCL, but only recommends it.
build=(g++ cmake ninja-build pkg-config libdnnl-dev ocl-icd-opencl-dev liburing-dev libnuma-dev libfmt-dev libspdlog-dev
  nlohmann-json3-dev libcli11-dev libxxhash-dev coinor-libcbc-dev libonnx-dev libprotobuf-dev protobuf-compiler libopenmpi-dev)
# The report page's charts. A Node from elsewhere, with its own npm, does as well, and Debian's npm cannot be installed beside it.
command -v npm >/dev/null || build+=(nodejs npm)
# qemu-user: tests/install on emulated older processors; qemu-system, busybox, cpio: tests/numa boots a machine with several
# memory nodes. chromium, selenium: tests/page. help2man: the manual pages, which tests/install looks for. pybind11, python3-dev,
# python3-torch, libtorch-dev: the Python package; pip, setuptools, wheel: its wheel. python3-onnx: the tutorial.
# libonnx-testdata: ONNX' own tests of its ops.
test=(procps libgtest-dev libgmock-dev clang-format clang-tidy git qemu-system-x86 busybox-static cpio openmpi-bin
  chromium chromium-driver python3-selenium help2man pybind11-dev
  python3-dev python3-torch python3-onnx libtorch-dev libonnx-testdata python3-pip python3-setuptools python3-wheel qemu-user)
package=(help2man pybind11-dev python3-dev python3-torch libtorch-dev dpkg-dev file)
# What the releases name otherwise. Clang 14 cannot compile the ranges of Debian 12's standard library.
clang=16 tcmalloc=libtcmalloc-minimal4
if [[ $(. /etc/os-release && echo "${ID:-}${VERSION_ID:-}") != debian12 ]]; then clang=19 tcmalloc=libtcmalloc-minimal4t64; fi
soak=("clang-$clang" "libclang-rt-$clang-dev" "libomp-$clang-dev")
rivals=(python3-torch python3-torchvision python3-onnx python3-numpy "$tcmalloc" libopenblas0-openmp)

case ${1:-build} in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${test[@]}") ;;
  soak) wanted=("${build[@]}" "${test[@]}" "${soak[@]}") ;;
  package) wanted=("${build[@]}" "${package[@]}") ;;
  rivals) wanted=("${rivals[@]}") ;;
  *) echo "usage: scripts/install_packages.sh [build|test|soak|package|rivals]" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "install_packages: this machine has no apt. Install by its own means: ${wanted[*]} (Debian's names)" >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "All ${#wanted[@]} packages are installed."
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "install_packages: installing needs root, and there is no sudo. Run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing ${#missing[@]} packages: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "Installed."
