// Runs steps under a policy (policies/policy.hpp), on memory whose slowness is emulated.
//
// The program is fast-only's, and its data never change address: ops compute what they always compute, so results have
// the same bits under every policy. What a policy does to a step is added to it:
//   - before each op the policy is asked. What it copies before the op is really copied, as page frames between two
//     arenas (policy_copies.hpp), and takes as long as the emulated links and faults would (wait_seconds()): a stall;
//   - behind each op the delay for bytes found in slow memory is injected (slow_seconds(), delay_injector.hpp);
//   - what the policy's own threads copied during an op is copied by threads of ours behind that op, beside the ops
//     that follow. There are at most as many of these threads as cores. The step ends when they are done.
// So the fast tier holds everything: RSS is fast-only's. `fast_bytes` is only the room that the policy believes in.
//
// Time. A policy sees the wall clock of the steps, one behind the other; the time between steps does not count. The
// policy's bookkeeping (lists, tags) is taken out of all times: it takes milliseconds here, and in reality the hardware
// or the kernel would do it.
//
// The slow tier must be emulated (kUnsupported otherwise), and addressable where the policy uses it in place. One
// caller at a time.
#pragma once

#include "sluice/exec/executor.hpp"
#include "sluice/policies/policy_settings.hpp"

namespace sluice::exec {

// What a policy did in one executed step.
struct ExecutedCharges {
  std::vector<policies::AccessCharge> ops;  // by OpIndex
  policies::AccessCharge charge;            // their sum
  policies::BackgroundWork background;
};

class PolicyExecutor : public Executor {
 public:
  // `program` must use the fast tier alone (kMismatch); other arguments as for Executor::create().
  static Result<std::unique_ptr<PolicyExecutor>> create(kernels::CompiledGraph& compiled,
                                                        const memory::Machine& machine, program::Program program,
                                                        std::span<const Bytes> budgets,
                                                        const policies::ChosenPages& chosen);

  virtual const ExecutedCharges& last_step() const = 0;
  virtual std::vector<std::pair<std::string, double>> figures() const = 0;  // Policy::figures()
};

// Whether such a run is possible on this machine, and with which tiers: create()'s errors, before anything is reserved.
Result<policies::PolicyTiers> check_policy_run(const memory::Machine& machine, const policies::PolicyEntry& entry);

}  // namespace sluice::exec
