// Predicts steps under a policy, which decides as accesses happen: there is no plan and no Program, so this is no
// part of simulator.hpp. The policy is the very object that the executor would drive (exec/policy/policy_executor.hpp).
//
// One clock, op after op:
//   - the op waits for what the policy copies before it, and for its faults (wait_seconds());
//   - it takes its time in fast memory and waits for its bytes in slow memory (slow_seconds());
//   - beside it the policy's threads copy pages, which costs the op their interference on top (lost_seconds()).
// A policy's threads are held up while an op waits: the link is busy with what the op waits for.
//
// Deterministic. Cost: that of the policy, by page touched (a step of 3 GiB in 4 KiB pages: tens of milliseconds).
#pragma once

#include <vector>

#include "sluice/layout/page_layout.hpp"
#include "sluice/policies/policy_settings.hpp"
#include "sluice/profile/cost_model.hpp"
#include "sluice/sim/locality.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice::sim {

struct PolicyOp {
  program::Span span;  // without the wait before the op
  Seconds stall = 0;   // that wait
  policies::AccessCharge charge;
  memory::MoveList before;  // it waits for these
  memory::MoveList beside;  // moved while it runs
};

struct PolicyStep {
  Seconds step_seconds = 0;
  Seconds stall_seconds = 0;
  policies::AccessCharge charge;  // sums
  memory::Copied before;
  memory::Copied beside;
  std::vector<Bytes> link_bytes;  // all that was copied, by LinkId

  Bytes bytes_in() const { return before.in + beside.in; }
  Bytes bytes_out() const { return before.out + beside.out; }
  // Of slow tiers, line by line.
  Bytes slow_read() const { return charge.slow_in_all().read + charge.slow_in_all().extra_read; }
  Bytes slow_written() const { return charge.slow_in_all().written + charge.slow_in_all().extra_written; }
  LocalityCount locality() const;
};

struct PolicyTimeline {
  std::vector<PolicyStep> steps;
  std::vector<PolicyOp> ops;  // of the last step, by OpIndex, times since its start
  std::vector<std::pair<std::string, double>> figures;

  // Steps that count: the second half. The first half is for the policy to find its balance.
  PolicyStep steady() const;  // their mean
};

// What an op or a step found in fast memory when it asked for it. A page that the policy brings only then does not
// count as found.
LocalityCount locality_count(const policies::AccessCharge& charge);

// The last step as one of a Program without transfers: link_bytes hold the pages copied.
program::StepTimes last_step(const PolicyTimeline& timeline);

// The course of the last step, and of any other by what its ops were charged, by OpIndex.
Locality last_locality(const PolicyTimeline& timeline);
Locality summarise_locality(std::span<const policies::AccessCharge> ops, const std::vector<Seconds>& op_ends,
                            Seconds step_seconds);

// The number of steps after which a policy repeats itself. After one step, pages are where first touch put them. After
// two, the order of a cache or an LRU list is that of the step before. Lists move pages for a few passes. So it is at
// least 8 steps, enough steps to see 8 passes, and at most 1000; whatever a still longer period would bring is not in
// the figures.
int settling_steps(const policies::PolicyTuning& tuning, Seconds fast_step_seconds);

// All that is passed must outlive the call. `steps` at least 1. `policy` is a new one, for this layout's bytes.
PolicyTimeline simulate_policy(const graph::Graph& graph, const graph::Liveness& liveness,
                               const layout::PageLayout& layout, const profile::CostModel& costs,
                               const memory::Machine& machine, policies::Policy& policy, int steps);

// The same with tensors where a framework's allocator would put them, for settling_steps() steps. Errors: those of
// make_policy() and check_policy_tiers().
Result<PolicyTimeline> predict_policy(const policies::ChosenPages& chosen, const graph::Graph& graph,
                                      const profile::CostModel& costs, const memory::Machine& machine);

}  // namespace sluice::sim
