// What encoding tensors (plan/own_encoding.hpp) would do: how many bytes of each would move, seen in a running step, and
// how fast this processor encodes and decodes.
#pragma once

#include <vector>

#include "sluice/exec/op_observer.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/encoding/encoding.hpp"
#include "sluice/profile/encoding_figures.hpp"

namespace sluice::measure {

// Looks at everything that ops make, chunk by chunk as an engine would encode it. Of a tensor that is written more than
// once, the largest counts. Tensors that outlive the step are passed over. Compute thread only; costs a pass over every
// output.
class EncodingRecorder final : public exec::OpObserver {
 public:
  explicit EncodingRecorder(const graph::Graph& graph) : graph_(graph), encoded_bytes_(graph.tensors().size(), 0) {}

  Status before_op(graph::OpIndex op, std::span<void* const> operands) override;
  void after_op(graph::OpIndex op) override;

  // By TensorId; 0 for what was not seen.
  const std::vector<Bytes>& encoded_bytes() const { return encoded_bytes_; }

 private:
  const graph::Graph& graph_;
  std::vector<void*> operands_;  // of the running op
  std::vector<Bytes> encoded_bytes_;
};

// Of one thread, with data that comes from memory and goes there, chunk by chunk as a lane does it. Takes about 0.1 s and
// 64 MiB. kZeroValue: floats of which every second is zero. kNarrow: bytes of which two bits are used. kOutOfSpace where
// there is no memory for it.
Result<profile::CoderSpeed> measure_coder(memory::Encoding encoding);

}  // namespace sluice::measure
