// The walk itself: every node of a model, makers before readers, by its converter or folded.
#pragma once

#include "sluice/onnx/convert/conversion.hpp"

namespace sluice::onnx {

// Errors (kBadInput) list every node that cannot be converted; the nodes behind one of them are not blamed.
Status convert_nodes(Conversion& conversion, const std::vector<const ::onnx::NodeProto*>& order);

}  // namespace sluice::onnx
