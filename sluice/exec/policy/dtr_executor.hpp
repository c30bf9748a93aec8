// Runs steps under dynamic tensor rematerialization (policies/dtr): Dtr decides during the step, by the times that ops
// really take, and ops run on pointers that are known only then.
//
// The fast tier's arena has exactly the bytes given, and everything is in it: parameters, values, workspaces. Nothing is
// mapped or allocated during a step but Dtr's books. Ops compute what they always compute, on other addresses and some
// of them more than once, so results have the same bits as with everything in memory.
//
// One caller at a time; ops run on its thread (and the backend's). Errors: those of Dtr and of ops; after one the executor
// refuses further steps.
#pragma once

#include "sluice/exec/executor.hpp"
#include "sluice/policies/dtr/dtr.hpp"

namespace sluice::exec {

class DtrExecutor : public Executor {
 public:
  // `compiled` must outlive the executor. kUnsupported where ops run on several processors or on a GPU.
  static Result<std::unique_ptr<DtrExecutor>> create(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                                                     Bytes fast_bytes);

  virtual const policies::DtrStep& last_step() const = 0;
  virtual std::vector<std::pair<std::string, double>> figures() const = 0;  // of all steps: DtrStep's counts by name
};

}  // namespace sluice::exec
