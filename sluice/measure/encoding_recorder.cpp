#include "sluice/measure/encoding_recorder.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/encoding/chunk_coder.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::measure {

Status EncodingRecorder::before_op(graph::OpIndex /*op*/, std::span<void* const> operands) {
  operands_.assign(operands.begin(), operands.end());
  return {};
}

// Whole pages of the tensor: what lies behind it on its last page is not the op's.
void EncodingRecorder::after_op(graph::OpIndex op) {
  const graph::Op& run = graph_.op(op);
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const graph::Tensor& tensor = graph_.tensor(run.outputs[i]);
    if (graph::is_persistent(tensor.role)) continue;
    const Bytes whole = align_down(tensor.bytes, memory::kBlockAlignment);
    const auto* bytes = static_cast<const std::byte*>(operands_[run.inputs.size() + i]);
    const Bytes rest = plan::stored_bytes(tensor) - whole;
    Bytes& encoded = encoded_bytes_[as_index(run.outputs[i])];
    const Bytes packed =
        memory::measure_encoded(graph::own_encoding(tensor), bytes, whole, graph::size_of(tensor.dtype));
    encoded = std::max(encoded, packed + rest);
  }
}

}  // namespace sluice::measure
