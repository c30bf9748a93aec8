#!/usr/bin/env bash
# From a bare Debian machine to Debian packages: build/packages/sluice_*.deb, with the command, the libraries and their headers,
# and build/packages/python3-sluice_*.deb, with the Python package. They are for the Debian that they were built on.
#
#   scripts/package.sh
#   apt install ./build/packages/*.deb     on a machine without a compiler
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/install_packages.sh package
mkdir -p build
cmake --preset release >build/release.configure.log 2>&1 || { cat build/release.configure.log; exit 1; }
cmake --build --preset release --parallel "$(nproc)"
rm -rf build/packages
(cd build && cpack --config release/CPackConfig.cmake -B packages) >build/package.log 2>&1 || { tail -n 30 build/package.log; exit 1; }
rm -rf build/packages/_CPack_Packages
ls -l build/packages
