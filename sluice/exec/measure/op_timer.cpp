#include "sluice/exec/measure/op_timer.hpp"

#include <pmmintrin.h>
#include <xmmintrin.h>

#include <algorithm>
#include <chrono>

#include "sluice/exec/measure/cache_flush.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice {
namespace {

class ZeroInput : public InputSource {
 public:
  Status fill(std::int64_t, std::span<const std::span<std::byte>> tensors) override {
    for (const std::span<std::byte> tensor : tensors) std::fill(tensor.begin(), tensor.end(), std::byte{0});
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<OpTimer>> OpTimer::make(CompiledGraph& compiled, int threads, int rings) {
  std::vector<ScratchRing> made;
  for (int i = 0; i < rings; ++i) {
    SLUICE_ASSIGN(ScratchRing ring, ScratchRing::make(compiled.graph(), threads));
    made.push_back(std::move(ring));
  }
  return std::unique_ptr<OpTimer>(new OpTimer(compiled, threads, std::move(made)));
}

OpTimer::OpTimer(CompiledGraph& compiled, int threads, std::vector<ScratchRing> rings)
    : compiled_(compiled), threads_(threads), rings_(std::move(rings)), input_(std::make_unique<ZeroInput>()) {
  set_denormals(_MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
}

OpTimer::~OpTimer() { set_denormals(0); }

// They would make some ops several times slower.
void OpTimer::set_denormals(unsigned mode) const {
#pragma omp parallel num_threads(threads_)
  _mm_setcsr((_mm_getcsr() & ~static_cast<unsigned>(_MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON)) | mode);
}

Status OpTimer::lie_in(const Tier& fast, const Tier& slow) {
  SLUICE_CHECK(rings_.size() == 2, "a timer with a slow ring");
  SLUICE_RETURN_IF_ERROR(rings_.front().lie_in(fast));
  return rings_.back().lie_in(slow);
}

void OpTimer::put_in_slow(std::vector<TensorId> tensors) {
  SLUICE_CHECK(rings_.size() == 2, "a timer with a slow ring");
  slow_ = std::move(tensors);
}

std::vector<void*> OpTimer::place(const Op& op) {
  std::vector<void*> operands = rings_.front().place(op);
  if (rings_.size() == 1) return operands;
  const std::vector<void*> in_slow = rings_.back().place(op);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TensorId id = i < op.inputs.size() ? op.inputs[i] : op.outputs[i - op.inputs.size()];
    if (std::ranges::find(slow_, id) != slow_.end()) operands[i] = in_slow[i];
  }
  return operands;
}

Result<Seconds> OpTimer::run(OpIndex op) { return time(op, place(compiled_.graph().op(op))); }

Result<Seconds> OpTimer::run_cold(OpIndex op) {
  const Graph& graph = compiled_.graph();
  const Op& instruction = graph.op(op);
  const std::vector<void*> operands = place(instruction);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool input = i < instruction.inputs.size();
    const TensorId id = input ? instruction.inputs[i] : instruction.outputs[i - instruction.inputs.size()];
    flush_from_caches(static_cast<const std::byte*>(operands[i]), graph.tensor(id).bytes, threads_);
  }
  return time(op, operands);
}

Result<Seconds> OpTimer::run_behind_others(OpIndex op) {
  for (OpIndex before = std::max(0, op - kOpsBefore); before < op; ++before) SLUICE_RETURN_IF_ERROR(run(before));
  return run(op);
}

Result<Seconds> OpTimer::time(OpIndex op, const std::vector<void*>& operands) {
  const Op& instruction = compiled_.graph().op(op);
  const StepContext context{.input = input_.get()};
  const auto begin = std::chrono::steady_clock::now();
  const Status status = compiled_.run(op, operands, context);
  const Seconds seconds = std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - begin).count();
  if (!status.ok()) {
    return Error{status.error().code, "measuring op " + instruction.name + " failed: " + status.error().message};
  }
  rings_.front().clear_integers(instruction, operands);
  return seconds;
}

}  // namespace sluice
