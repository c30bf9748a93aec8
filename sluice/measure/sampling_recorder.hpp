// Estimates, op by op, how often operands are touched in main memory, from samples that the processor takes while the
// op runs (memory/observe/hardware_sampling.hpp): an OpObserver like AccessRecorder, at next to no slowdown. A sample counts
// for the operand whose bytes hold its address. Samples of other addresses are of the kernels' own memory and are
// dropped.
#pragma once

#include <memory>
#include <vector>

#include "sluice/exec/op_observer.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/observe/memory_samples.hpp"
#include "sluice/profile/access_profile.hpp"

namespace sluice::measure {

class SamplingRecorder final : public exec::OpObserver {
 public:
  // With the processor's samples; kUnsupported where it takes none. `graph` outlives the recorder.
  static Result<std::unique_ptr<SamplingRecorder>> create(const graph::Graph& graph);
  SamplingRecorder(const graph::Graph& graph, std::unique_ptr<memory::SampleSource> source);

  Status before_op(graph::OpIndex op, std::span<void* const> operands) override;
  void after_op(graph::OpIndex op) override;

  const std::vector<std::vector<profile::TensorTouches>>& counts() const { return counts_; }
  std::vector<std::string> notes() const { return source_->notes(); }

 private:
  void add(const memory::MemorySample& sample, const graph::Op& op, std::vector<profile::TensorTouches>& touches) const;

  const graph::Graph& graph_;
  std::unique_ptr<memory::SampleSource> source_;
  std::vector<std::uintptr_t> begins_;  // of the running op's operands, inputs then outputs
  std::vector<std::vector<profile::TensorTouches>> counts_;
};

}  // namespace sluice::measure
