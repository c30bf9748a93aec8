// What tensors would take of a transfer if they were encoded (graph/encoding.hpp), seen in a running step: an
// OpObserver that looks at everything that ops make, chunk by chunk as an engine would encode it.
//
// Of a tensor that is written more than once, the largest counts. Tensors that outlive the step are passed
// over. Compute thread only; costs a pass over every output.
#pragma once

#include <vector>

#include "sluice/exec/op_observer.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::measure {

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

}  // namespace sluice::measure
