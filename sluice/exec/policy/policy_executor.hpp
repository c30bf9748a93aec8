// Runs steps under a policy (policies/policy.hpp), on memory whose slowness is emulated.
//
// The program is fast-only's, and its data never change address: ops compute what they always compute, so results have
// the same bits under every policy. What a policy does to a step is added to it:
//   - before each op the policy is asked. What it copies meanwhile is really copied, page frames between two arenas
//     (policy_copies.hpp), and lasts as long as the emulated links and faults take (wait_seconds()): a stall;
//   - behind each op the delay for bytes found in slow memory is injected (slow_seconds(), delay_injector.hpp);
//   - what its threads copied during an op is copied by threads of ours behind it, at most the cores' number of them,
//     and beside the ops that follow. The step ends when they are done.
// So the fast tier holds everything, and `fast_bytes` is the room that the policy believes in: RSS is fast-only's.
//
// Time. A policy sees the wall clock of the steps one behind the other; what lies between them does not count. Its
// bookkeeping (lists, tags; a hardware's work or the kernel's) is taken out of all times: it takes milliseconds here
// and would be done by others.
//
// The slow tier must be emulated (kUnsupported otherwise), and addressable where the policy uses it in place. One
// caller at a time.
#pragma once

#include "sluice/exec/executor.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice {

// What a policy did in one executed step.
struct ExecutedCharges {
  std::vector<AccessCharge> ops;  // by OpIndex
  AccessCharge charge;            // their sum
  BackgroundWork background;
};

class PolicyExecutor : public Executor {
 public:
  // `program` must use the fast tier alone (kMismatch); other arguments as for Executor::create().
  static Result<std::unique_ptr<PolicyExecutor>> create(CompiledGraph& compiled, const Machine& machine,
                                                        Program program, std::span<const Bytes> budgets,
                                                        const PolicyRequest& request);

  virtual const ExecutedCharges& last_step() const = 0;
  virtual std::vector<std::pair<std::string, double>> figures() const = 0;  // Policy::figures()
};

// Whether such a run is possible on this machine, and with which tiers: create()'s errors, before anything is reserved.
Result<PolicyTiers> check_policy_run(const Machine& machine, const PolicyRequest& request);

}  // namespace sluice
