#include "sluice/measure/op_timer.hpp"

#include <pmmintrin.h>
#include <xmmintrin.h>

#include <algorithm>
#include <chrono>

#include "sluice/graph/liveness.hpp"
#include "sluice/measure/gpu_op_timer.hpp"
#include "sluice/measure/scratch_ring.hpp"

namespace sluice::measure {
namespace {

class ZeroInput : public kernels::InputSource {
 public:
  Status fill(std::int64_t, std::span<const std::span<std::byte>> tensors) override {
    for (const std::span<std::byte> tensor : tensors) std::fill(tensor.begin(), tensor.end(), std::byte{0});
    return {};
  }
};

// On the host's memory, by its clock.
class HostOpTimer : public OpTimer {
 public:
  HostOpTimer(kernels::CompiledGraph& compiled, int threads, std::vector<ScratchRing> rings)
      : compiled_(compiled), threads_(threads), rings_(std::move(rings)) {
    set_denormals(_MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
  }
  ~HostOpTimer() override { set_denormals(0); }

  Status lie_in(const memory::Tier& fast, const memory::Tier& slow) override;
  void put_in_slow(std::vector<graph::TensorId> tensors) override;
  Result<Seconds> run(graph::OpIndex op) override { return time(op, place(compiled_.graph().op(op))); }
  Result<Seconds> run_cold(graph::OpIndex op) override;

 private:
  std::vector<void*> place(const graph::Op& op);
  Result<Seconds> time(graph::OpIndex op, const std::vector<void*>& operands);
  void set_denormals(unsigned mode) const;

  kernels::CompiledGraph& compiled_;
  int threads_;
  std::vector<ScratchRing> rings_;  // fast, slow; every op is placed in both, so that they stay alike
  std::vector<graph::TensorId> slow_;
  std::unique_ptr<kernels::InputSource> input_ = make_zero_input();
};

// They would make some ops several times slower.
void HostOpTimer::set_denormals(unsigned mode) const {
#pragma omp parallel num_threads(threads_)
  _mm_setcsr((_mm_getcsr() & ~static_cast<unsigned>(_MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON)) | mode);
}

Status HostOpTimer::lie_in(const memory::Tier& fast, const memory::Tier& slow) {
  SLUICE_CHECK(rings_.size() == 2, "a timer with a slow ring");
  SLUICE_RETURN_IF_ERROR(rings_.front().lie_in(fast));
  return rings_.back().lie_in(slow);
}

void HostOpTimer::put_in_slow(std::vector<graph::TensorId> tensors) {
  SLUICE_CHECK(rings_.size() == 2, "a timer with a slow ring");
  slow_ = std::move(tensors);
}

std::vector<void*> HostOpTimer::place(const graph::Op& op) {
  std::vector<void*> operands = rings_.front().place(op);
  if (rings_.size() == 1) return operands;
  const std::vector<void*> in_slow = rings_.back().place(op);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const graph::TensorId id = i < op.inputs.size() ? op.inputs[i] : op.outputs[i - op.inputs.size()];
    if (std::ranges::find(slow_, id) != slow_.end()) operands[i] = in_slow[i];
  }
  return operands;
}

Result<Seconds> HostOpTimer::run_cold(graph::OpIndex op) {
  SLUICE_CHECK(rings_.size() == 1, "a timer without a slow ring");
  return time(op, rings_.front().place_anew(compiled_.graph().op(op)));
}

Result<Seconds> HostOpTimer::time(graph::OpIndex op, const std::vector<void*>& operands) {
  const graph::Op& instruction = compiled_.graph().op(op);
  const kernels::StepContext context{.input = input_.get()};
  const auto begin = std::chrono::steady_clock::now();
  const Status status = compiled_.run(op, operands, context);
  const Seconds seconds = std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - begin).count();
  if (!status.ok()) {
    return Error{status.error().code, "measuring op " + instruction.name + " failed: " + status.error().message};
  }
  rings_.front().clear_integers(instruction, operands);
  return seconds;
}

}  // namespace

std::unique_ptr<kernels::InputSource> make_zero_input() { return std::make_unique<ZeroInput>(); }

Result<std::unique_ptr<OpTimer>> OpTimer::make(kernels::CompiledGraph& compiled, int threads, int rings,
                                               Bytes smallest_ring) {
  if (runs_on_gpu(compiled)) return make_gpu_op_timer(compiled);
  std::vector<ScratchRing> made;
  for (int i = 0; i < rings; ++i) {
    SLUICE_ASSIGN(ScratchRing ring,
                  ScratchRing::make(compiled.graph(), threads, std::max(smallest_ring, ScratchRing::kThreeCaches)));
    made.push_back(std::move(ring));
  }
  return std::unique_ptr<OpTimer>(std::make_unique<HostOpTimer>(compiled, threads, std::move(made)));
}

Result<Seconds> OpTimer::run_behind_others(graph::OpIndex op) {
  for (graph::OpIndex before = std::max(0, op - kOpsBefore); before < op; ++before) SLUICE_RETURN_IF_ERROR(run(before));
  return run(op);
}

}  // namespace sluice::measure
