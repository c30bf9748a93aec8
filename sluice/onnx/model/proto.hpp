// The protobuf classes of ONNX, as Debian's libonnx ships them. Included by this folder's sources and tests only.
#pragma once

#include <onnx/onnx_pb.h>
