#include "sluice/sim/dtr_simulator.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::sim {
namespace {

class SimulatedOps final : public policies::DtrDriver {
 public:
  SimulatedOps(const policies::StepValues& step, const profile::CostModel& costs, const memory::Tier& fast,
               std::size_t ops)
      : step_(step), costs_(costs), fast_(fast), first_runs_(ops) {}

  Result<Seconds> run(graph::OpIndex slot, std::span<const Bytes> /*operands*/) override {
    const graph::OpIndex op = step_.kernels.op_of[as_index(slot)];
    const Seconds seconds = costs_.op_seconds(op);
    if (step_.is_first(slot)) first_runs_[as_index(op)] = {now_, now_ + seconds};
    now_ += seconds;
    return seconds;
  }

  Seconds move(Bytes /*from*/, Bytes /*to*/, Bytes bytes) override {
    Seconds seconds = 0;
    for (const BytesPerSecond bandwidth : {fast_.read_bandwidth, fast_.write_bandwidth}) {
      if (bandwidth > 0) seconds += static_cast<double>(bytes) / bandwidth;
    }
    now_ += seconds;
    return seconds;
  }

  Seconds now() const { return now_; }
  const std::vector<program::Span>& first_runs() const { return first_runs_; }

 private:
  const policies::StepValues& step_;
  const profile::CostModel& costs_;
  const memory::Tier& fast_;
  std::vector<program::Span> first_runs_;  // by op of the given graph
  Seconds now_ = 0;
};

}  // namespace

Result<DtrTimeline> simulate_dtr(const graph::Graph& step, const profile::CostModel& costs,
                                 const memory::Machine& machine, Bytes fast_bytes) {
  SLUICE_ASSIGN(policies::Dtr dtr, policies::Dtr::create(step, fast_bytes));
  SimulatedOps ops(dtr.values(), costs, machine.tier(memory::kFastTier), step.ops().size());
  DtrTimeline timeline;
  SLUICE_ASSIGN(timeline.step, dtr.run_step(ops));
  timeline.times.ops = ops.first_runs();
  timeline.times.stalls.assign(step.ops().size(), 0);
  timeline.times.step_seconds = ops.now();
  timeline.times.link_bytes.assign(machine.links.size(), 0);
  timeline.times.raw_link_bytes = timeline.times.link_bytes;
  return timeline;
}

TimeBreakdown break_down(const policies::DtrStep& step, Seconds step_seconds) {
  return {.computation = step.computation,
          .recomputation = step.recomputation,
          .other = std::max(0.0, step_seconds - step.computation - step.recomputation)};
}

}  // namespace sluice::sim
