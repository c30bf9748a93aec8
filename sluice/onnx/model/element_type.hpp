// What the element types of ONNX count as. All that Sluice reads: floating-point numbers are computed with in single
// precision, integers and booleans are whole numbers.
#pragma once

#include <cstdint>

#include "sluice/onnx/model/proto.hpp"

namespace sluice::onnx {

constexpr bool is_floating_type(std::int64_t type) {
  return type == ::onnx::TensorProto::FLOAT || type == ::onnx::TensorProto::DOUBLE ||
         type == ::onnx::TensorProto::FLOAT16 || type == ::onnx::TensorProto::BFLOAT16;
}

// Of an element in raw data; 0 for types that Sluice does not read.
constexpr std::int64_t element_bytes(std::int64_t type) {
  switch (type) {
    case ::onnx::TensorProto::BOOL:
    case ::onnx::TensorProto::INT8:
    case ::onnx::TensorProto::UINT8:
      return 1;
    case ::onnx::TensorProto::FLOAT16:
    case ::onnx::TensorProto::BFLOAT16:
    case ::onnx::TensorProto::INT16:
    case ::onnx::TensorProto::UINT16:
      return 2;
    case ::onnx::TensorProto::FLOAT:
    case ::onnx::TensorProto::INT32:
    case ::onnx::TensorProto::UINT32:
      return 4;
    case ::onnx::TensorProto::DOUBLE:
    case ::onnx::TensorProto::INT64:
    case ::onnx::TensorProto::UINT64:
      return 8;
    default:
      return 0;
  }
}

constexpr bool is_whole_type(std::int64_t type) { return element_bytes(type) != 0 && !is_floating_type(type); }

}  // namespace sluice::onnx
