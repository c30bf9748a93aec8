#!/usr/bin/env bash
# check_links.sh PROGRAM...: fails where one of them needs a library that the memory core has no use for.
set -euo pipefail
status=0
for program in "$@"; do
  needed=$(ldd "$program" | grep -E 'lib(dnnl|gomp|cuda|cudart|cudnn|cublas|protobuf|onnx|mpi|Cbc|OpenCL)' || true)
  [[ -z $needed ]] && continue
  echo "$program needs"
  echo "$needed"
  status=1
done
exit $status
