#include "sluice/sim/dtr_simulator.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

class SimulatedOps final : public DtrDriver {
 public:
  SimulatedOps(const StepValues& step, const CostModel& costs, const Tier& fast, std::size_t ops)
      : step_(step), costs_(costs), fast_(fast), first_runs_(ops) {}

  Result<Seconds> run(OpIndex slot, std::span<const Bytes> /*operands*/) override {
    const OpIndex op = step_.kernels.op_of[as_index(slot)];
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
  const std::vector<Span>& first_runs() const { return first_runs_; }

 private:
  const StepValues& step_;
  const CostModel& costs_;
  const Tier& fast_;
  std::vector<Span> first_runs_;  // by op of the given graph
  Seconds now_ = 0;
};

}  // namespace

Result<DtrTimeline> simulate_dtr(const Graph& step, const CostModel& costs, const Machine& machine, Bytes fast_bytes) {
  SLUICE_ASSIGN(Dtr dtr, Dtr::create(step, fast_bytes));
  SimulatedOps ops(dtr.values(), costs, machine.tier(kFastTier), step.ops().size());
  DtrTimeline timeline;
  SLUICE_ASSIGN(timeline.step, dtr.run_step(ops));
  timeline.times.ops = ops.first_runs();
  timeline.times.stalls.assign(step.ops().size(), 0);
  timeline.times.step_seconds = ops.now();
  timeline.times.link_bytes.assign(machine.links.size(), 0);
  timeline.times.raw_link_bytes = timeline.times.link_bytes;
  return timeline;
}

TimeBreakdown break_down(const DtrStep& step, Seconds step_seconds) {
  return {.computation = step.computation,
          .recomputation = step.recomputation,
          .other = std::max(0.0, step_seconds - step.computation - step.recomputation)};
}

}  // namespace sluice
