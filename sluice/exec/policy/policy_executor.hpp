// Runs steps under a policy (policies/policy.hpp).
//
//   before each op   the policy is asked; what it wants moved first is a stall
//   behind each op   the policy's own threads have had the op's time; what they moved goes on beside the ops that follow
//
// The policy decides, and a driver (move_driver.hpp) makes it true. Where slow memory is emulated, the driver adds the
// time of the moves to a step whose data stay in fast memory. On a real file or memory node it moves the pages: the
// step's tensors lie at the addresses of layout/page_layout.hpp, which are the policy's, and pages that are not in fast
// memory do not take any.
// Either way ops compute what they always compute, so results have the same bits under every policy.
//
// Time. A policy sees the wall clock of the steps, one behind the other; the time between steps does not count. What the
// policy takes for its own lists and tags counts where moves are made. Where they are emulated it is taken out of all
// times: in reality the hardware or the kernel would do it.
//
// One caller at a time.
#pragma once

#include "sluice/exec/executor.hpp"
#include "sluice/policies/policy_settings.hpp"

namespace sluice::exec {

// What a policy did in one executed step.
struct ExecutedCharges {
  std::vector<policies::AccessCharge> ops;  // by OpIndex
  policies::AccessCharge charge;            // their sum
  memory::Copied before;                    // ops waited for these
  memory::Copied beside;
};

class PolicyExecutor : public Executor {
 public:
  // `program` must use the fast tier alone (kMismatch); other arguments as for Executor::create(). kInfeasible where an op
  // uses more at once than the policy has fast memory, and cannot use slow memory in place.
  static Result<std::unique_ptr<PolicyExecutor>> create(kernels::CompiledGraph& compiled,
                                                        const memory::Machine& machine, program::Program program,
                                                        std::span<const Bytes> budgets,
                                                        const policies::ChosenPages& chosen);

  virtual const ExecutedCharges& last_step() const = 0;
  virtual std::vector<std::pair<std::string, double>> figures() const = 0;  // Policy::figures()
};

// Whether such a run is possible on this machine: create()'s errors, before anything is reserved.
Status check_policy_run(const memory::Machine& machine, const policies::PolicyEntry& entry);

}  // namespace sluice::exec
