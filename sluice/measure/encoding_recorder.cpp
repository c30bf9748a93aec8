#include "sluice/measure/encoding_recorder.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/encoding/chunk_coder.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice {

Status EncodingRecorder::before_op(OpIndex /*op*/, std::span<void* const> operands) {
  operands_.assign(operands.begin(), operands.end());
  return {};
}

// Whole pages of the tensor: what lies behind it on its last page is not the op's.
void EncodingRecorder::after_op(OpIndex op) {
  const Op& run = graph_.op(op);
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const Tensor& tensor = graph_.tensor(run.outputs[i]);
    if (is_persistent(tensor.role)) continue;
    const Bytes whole = align_down(tensor.bytes, kBlockAlignment);
    const auto* bytes = static_cast<const std::byte*>(operands_[run.inputs.size() + i]);
    const Bytes rest = stored_bytes(tensor) - whole;
    Bytes& encoded = encoded_bytes_[as_index(run.outputs[i])];
    const Bytes packed = measure_encoded(own_encoding(tensor), bytes, whole, size_of(tensor.dtype));
    encoded = std::max(encoded, packed + rest);
  }
}

}  // namespace sluice
