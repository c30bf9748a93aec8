#include "sluice/measure/sampling_recorder.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/memory/observe/hardware_sampling.hpp"

namespace sluice::measure {

Result<std::unique_ptr<SamplingRecorder>> SamplingRecorder::create(const graph::Graph& graph) {
  SLUICE_ASSIGN(std::unique_ptr<memory::SampleSource> source, memory::open_hardware_sampler());
  return std::make_unique<SamplingRecorder>(graph, std::move(source));
}

SamplingRecorder::SamplingRecorder(const graph::Graph& graph, std::unique_ptr<memory::SampleSource> source)
    : graph_(graph), source_(std::move(source)) {
  for (const graph::Op& op : graph.ops()) {
    auto& touches = counts_.emplace_back();
    for (const graph::TensorId tensor : graph::distinct_operands(op)) {
      if (graph.tensor(tensor).bytes > 0) touches.push_back({.tensor = tensor});
    }
  }
}

Status SamplingRecorder::before_op(graph::OpIndex, std::span<void* const> operands) {
  begins_.clear();
  for (const void* operand : operands) begins_.push_back(reinterpret_cast<std::uintptr_t>(operand));
  source_->start();
  return {};
}

void SamplingRecorder::after_op(graph::OpIndex op) {
  source_->stop();
  for (const memory::MemorySample& sample : source_->drain()) {
    add(sample, graph_.op(op), counts_[as_index(op)]);
  }
}

void SamplingRecorder::add(const memory::MemorySample& sample, const graph::Op& op,
                           std::vector<profile::TensorTouches>& touches) const {
  for (std::size_t i = 0; i < begins_.size(); ++i) {
    const graph::TensorId tensor = i < op.inputs.size() ? op.inputs[i] : op.outputs[i - op.inputs.size()];
    const auto bytes = static_cast<std::uintptr_t>(graph_.tensor(tensor).bytes);
    if (sample.address < begins_[i] || sample.address - begins_[i] >= bytes) continue;
    profile::TensorTouches& touched = *std::ranges::find(touches, tensor, &profile::TensorTouches::tensor);
    (sample.write ? touched.writes : touched.reads) += sample.weight;
    return;
  }
}

}  // namespace sluice::measure
