// What a run has whichever graph and plan it is at: the memory of its programs, with the persistent tensors that are in it,
// and those that wait on disk.
//
// A program follows another when graph or plan changes: at a replan, for an evaluation, for a step of another length, for
// a batch of another size. What both have in one form goes from place to place in memory (exec/run_memory.hpp); the rest
// is parked, and comes back where a program has it. Values are exact in either way. One caller at a time.
#pragma once

#include <memory>
#include <vector>

#include "sluice/exec/run_memory.hpp"
#include "sluice/train/parameters/parked_tensors.hpp"

namespace sluice::train {

class RunState {
 public:
  // `ranks`: nullptr for one; outlives this object.
  explicit RunState(const memory::Machine& machine, kernels::Ranks* ranks = nullptr)
      : memory_(std::make_shared<exec::RunMemory>(machine)), parked_(scratch_folder(machine)), ranks_(ranks) {}

  // The memory is that of `next` from now on; what is not carried over was parked. No executor of the program before may be
  // left. Errors: those of RunMemory::change_to() and of ParkedTensors; the state is then as good for the program before.
  Status change_to(std::shared_ptr<kernels::CompiledGraph> compiled, const exec::NextProgram& next);

  // Persistent tensors of the present program that are to be written before its first step.
  std::vector<graph::TensorId> to_be_written() const;

  // A step of a program that writes no persistent tensor has failed, and its executor is gone: they have the values they
  // had before it. `moved`: the program moves some, so that they are what park() has put on disk.
  void outlive_evaluation(bool moved);

  // All that the memory holds is on disk too.
  Status park();
  // The same, and the memory is given back.
  Status leave_memory();
  // Of an executor that has memory of its own.
  Status park(ParameterAccess& access) { return parked_.update(access); }

  const std::shared_ptr<exec::RunMemory>& memory() const { return memory_; }
  ParkedTensors& parked() { return parked_; }

 private:
  std::shared_ptr<exec::RunMemory> memory_;
  ParkedTensors parked_;
  kernels::Ranks* ranks_;
};

}  // namespace sluice::train
