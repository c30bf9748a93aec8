// Branches of control flow whose condition is known: what an exporter leaves where extents were open to it
// (torch.squeeze(dim) becomes If(extent == 1) Squeeze else Identity).
#pragma once

#include <string>

#include "sluice/base/result.hpp"
#include "sluice/onnx/model/proto.hpp"

namespace sluice::onnx {

// Puts the branch that is taken in the place of the If that makes `result`, with its nodes and initializers. Names that
// the graph has already are changed, but for those of initializers. Errors (kBadInput): no such branch, or one that does
// not make what the If makes.
Status take_branch(::onnx::GraphProto& graph, const std::string& result, bool condition);

}  // namespace sluice::onnx
