#include "sluice/sim/policy_simulator.hpp"

#include <algorithm>
#include <cmath>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/charge.hpp"
#include "sluice/policies/policy_settings.hpp"
#include "sluice/policies/step_accesses.hpp"

namespace sluice::sim {
namespace {

constexpr int kFewestSteps = 8;
constexpr int kMostSteps = 1000;
constexpr double kPasses = 8;

class PolicySimulation {
 public:
  PolicySimulation(const policies::StepAccesses& accesses, const profile::CostModel& costs,
                   const memory::Machine& machine, policies::Policy& policy)
      : accesses_(accesses), costs_(costs), machine_(machine), policy_(policy) {
    memory::MoveList placed;
    policy_.access(accesses_.initial, now_, placed);
  }

  PolicyStep run_step(std::vector<PolicyOp>& ops) {
    const Seconds begin = now_;
    PolicyStep step;
    ops.clear();
    for (graph::OpIndex op = 0; op < as_id<graph::OpIndex>(accesses_.ops.size()); ++op) {
      ops.push_back(run_op(op, begin));
      step.stall_seconds += ops.back().stall;
      step.charge += ops.back().charge;
      step.before += memory::copied_by(ops.back().before);
      step.beside += memory::copied_by(ops.back().beside);
      memory::add_to_links(machine_, ops.back().before, step.link_bytes);
      memory::add_to_links(machine_, ops.back().beside, step.link_bytes);
    }
    step.step_seconds = now_ - begin;
    return step;
  }

 private:
  // Faults first, then the op with what it finds slow, while the policy's own threads work; what these take from the
  // processors is added at the end.
  PolicyOp run_op(graph::OpIndex op, Seconds step_begin) {
    PolicyOp done;
    done.charge = policies::charge_op(policy_, accesses_, op, now_, done.before);
    done.stall = policies::wait_seconds(machine_, by_link(done.before), done.charge.fault_seconds);
    const Seconds begin = now_ + done.stall;
    const profile::MemorySeconds slow = policies::slow_seconds(machine_, done.charge);
    const Seconds own_end = begin + profile::op_seconds_with(costs_.op_seconds(op), slow);
    policy_.advance(begin, own_end, done.beside);
    now_ = own_end + policies::lost_seconds(machine_, by_link(done.beside));
    done.span = {begin - step_begin, now_ - step_begin};
    return done;
  }

  std::vector<Bytes> by_link(const memory::MoveList& moves) const {
    std::vector<Bytes> bytes;
    memory::add_to_links(machine_, moves, bytes);
    return bytes;
  }

  const policies::StepAccesses& accesses_;
  const profile::CostModel& costs_;
  const memory::Machine& machine_;
  policies::Policy& policy_;
  Seconds now_ = 0;
};

}  // namespace

LocalityCount locality_count(const policies::AccessCharge& charge) {
  return {charge.requested, charge.found_fast, charge.operands, charge.operands_found};
}

LocalityCount PolicyStep::locality() const { return locality_count(charge); }

Locality summarise_locality(std::span<const policies::AccessCharge> ops, const std::vector<Seconds>& op_ends,
                            Seconds step_seconds) {
  std::vector<LocalityCount> counts;
  for (const policies::AccessCharge& charge : ops) counts.push_back(locality_count(charge));
  return summarise_locality(counts, op_ends, step_seconds);
}

Locality last_locality(const PolicyTimeline& timeline) {
  std::vector<policies::AccessCharge> charges;
  std::vector<Seconds> op_ends;
  for (const PolicyOp& op : timeline.ops) {
    charges.push_back(op.charge);
    op_ends.push_back(op.span.end);
  }
  return summarise_locality(charges, op_ends, timeline.steps.back().step_seconds);
}

program::StepTimes last_step(const PolicyTimeline& timeline) {
  const PolicyStep& step = timeline.steps.back();
  program::StepTimes last;
  for (const PolicyOp& op : timeline.ops) {
    last.ops.push_back(op.span);
    last.stalls.push_back(op.stall);
  }
  last.step_seconds = step.step_seconds;
  last.stall_seconds = step.stall_seconds;
  last.link_bytes = last.raw_link_bytes = step.link_bytes;
  return last;
}

// The mean of the second half: policies that learn have settled by then (settling_steps()).
PolicyStep PolicyTimeline::steady() const {
  SLUICE_CHECK(!steps.empty(), "a timeline has steps");
  const std::size_t first = steps.size() / 2;
  const auto count = static_cast<Bytes>(steps.size() - first);
  PolicyStep mean;
  for (std::size_t i = first; i < steps.size(); ++i) {
    mean.step_seconds += steps[i].step_seconds;
    mean.stall_seconds += steps[i].stall_seconds;
    mean.charge += steps[i].charge;
    mean.before += steps[i].before;
    mean.beside += steps[i].beside;
    mean.link_bytes.resize(steps[i].link_bytes.size());
    for (std::size_t link = 0; link < mean.link_bytes.size(); ++link)
      mean.link_bytes[link] += steps[i].link_bytes[link];
  }
  policies::AccessCharge& charge = mean.charge;
  for (Seconds* seconds : {&mean.step_seconds, &mean.stall_seconds, &charge.fault_seconds}) {
    *seconds /= static_cast<Seconds>(count);
  }
  for (Bytes* bytes : {&charge.requested, &charge.found_fast, &charge.operands, &charge.operands_found, &charge.filled,
                       &mean.before.in, &mean.before.out, &mean.beside.in, &mean.beside.out}) {
    *bytes /= count;
  }
  for (policies::SlowTraffic& slow : charge.slow) {
    for (Bytes* bytes : {&slow.read, &slow.written, &slow.extra_read, &slow.extra_written}) *bytes /= count;
  }
  for (Bytes& bytes : mean.link_bytes) bytes /= count;
  return mean;
}

int settling_steps(const policies::PolicyTuning& tuning, Seconds fast_step_seconds) {
  if (fast_step_seconds <= 0) return kMostSteps;
  const double passes = std::ceil(kPasses * tuning.scan_period / fast_step_seconds);
  return static_cast<int>(std::clamp<double>(passes, kFewestSteps, kMostSteps));
}

PolicyTimeline simulate_policy(const graph::Graph& graph, const graph::Liveness& liveness,
                               const layout::PageLayout& layout, const profile::CostModel& costs,
                               const memory::Machine& machine, policies::Policy& policy, int steps) {
  SLUICE_CHECK(steps > 0, "at least one step is simulated");
  const policies::StepAccesses accesses = policies::step_accesses(graph, liveness, layout, costs.traffic());
  PolicySimulation simulation(accesses, costs, machine, policy);
  PolicyTimeline timeline;
  for (int step = 0; step < steps; ++step) timeline.steps.push_back(simulation.run_step(timeline.ops));
  timeline.figures = policy.figures();
  return timeline;
}

Result<PolicyTimeline> predict_policy(const policies::ChosenPages& chosen, const graph::Graph& graph,
                                      const profile::CostModel& costs, const memory::Machine& machine) {
  SLUICE_RETURN_IF_ERROR(policies::check_policy_tiers(*chosen.entry, machine));
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  const layout::PageLayout layout = layout::allocation_order_layout(graph, liveness);
  const policies::PolicyMemory memory = policies::policy_memory(machine, chosen.fast_bytes, layout.bytes);
  SLUICE_ASSIGN(const std::unique_ptr<policies::Policy> policy,
                policies::make_policy(*chosen.entry, memory, chosen.tuning));
  return simulate_policy(graph, liveness, layout, costs, machine, *policy,
                         settling_steps(chosen.tuning, costs.compute_seconds()));
}

}  // namespace sluice::sim
