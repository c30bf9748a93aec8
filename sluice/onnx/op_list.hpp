// The ONNX ops that Sluice reads, as the table in docs/onnx.md (scripts/write_onnx_ops.sh puts it there).
#pragma once

#include <string>

namespace sluice::onnx {

// Rows of a Markdown table: a family and its ops, with what of them is supported where that is not all.
std::string onnx_op_rows();

}  // namespace sluice::onnx
