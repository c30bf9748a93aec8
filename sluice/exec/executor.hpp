// Runs a Program for real: ops of the main processor on the calling thread (and the backend's threads), one thread for
// each other processor (and its backend's threads), one thread per transfer lane.
//
// It runs over the memory of a run (run_memory.hpp), which outlives it: another program's executor may follow.
//
// Nothing is allocated, mapped or decided during a step: arenas, spill file, engines, operand pointers and injected
// delays are all fixed when the executor is made. An op costs less than a microsecond beside its kernel.
//
// Threads: one caller at a time. Errors: a failing op or transfer ends the step once every transfer under way has run
// out; run_step() says what failed, and the executor and its memory then refuse everything but destruction.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "sluice/exec/op_observer.hpp"
#include "sluice/exec/run_memory.hpp"
#include "sluice/exec/tensor_store.hpp"
#include "sluice/kernels/backend.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/transfer/engine_factory.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::exec {

// Makes the engine of a link: make_engine(), or a test's own that fails where the test wants it to.
using EngineFactory = std::function<Result<std::unique_ptr<memory::TransferEngine>>(
    const memory::Machine&, memory::LinkId, const memory::TierStorages&)>;

class Executor : public TensorStore {
 public:
  // `program` is the one that `memory` was last changed to. Opens the links, starts the lanes.
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<RunMemory> memory, program::Program program,
                                                  const EngineFactory& engine_factory = memory::make_engine);
  // Over memory of its own, where no other program follows. `budgets` as in NextProgram. `compiled` must outlive the
  // executor.
  static Result<std::unique_ptr<Executor>> create(kernels::CompiledGraph& compiled, const memory::Machine& machine,
                                                  program::Program program, std::span<const Bytes> budgets,
                                                  const EngineFactory& engine_factory = memory::make_engine);

  // Runs one step. After an error the tensors are undefined and the executor refuses further steps.
  virtual Result<program::StepTimes> run_step(const kernels::StepContext& context) = 0;

  // Shows every op to `observer`, from the next step on; nullptr: to nobody. The observer outlives the steps that it
  // sees.
  virtual void observe(OpObserver* observer) {
    SLUICE_CHECK(observer == nullptr, "this executor shows its ops to nobody");
  }

  virtual std::vector<std::string> notes() const = 0;  // fallbacks taken: no huge pages, no O_DIRECT, ...
};

}  // namespace sluice::exec
