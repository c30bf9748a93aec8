#include "sluice/train/run_state.hpp"

namespace sluice::train {

Status RunState::change_to(std::shared_ptr<kernels::CompiledGraph> compiled, const exec::NextProgram& next) {
  SLUICE_RETURN_IF_ERROR(memory_->usable());
  if (memory_->compiled() != nullptr) {
    ParameterAccess access(*memory_->compiled(), *memory_, ranks_);
    SLUICE_RETURN_IF_ERROR(parked_.update(access, memory_->not_carried(next)));
  }
  return memory_->change_to(std::move(compiled), next);
}

std::vector<graph::TensorId> RunState::to_be_written() const {
  std::vector<graph::TensorId> found = persistent_tensors(memory_->compiled()->graph());
  std::erase_if(found, [&](graph::TensorId id) { return memory_->holds(id); });
  return found;
}

Status RunState::park() {
  SLUICE_RETURN_IF_ERROR(memory_->usable());
  if (memory_->compiled() == nullptr) return {};
  ParameterAccess access(*memory_->compiled(), *memory_, ranks_);
  return parked_.update(access, memory_->held());
}

void RunState::outlive_evaluation(bool moved) {
  if (moved) {
    memory_ = std::make_shared<exec::RunMemory>(memory_->machine());
  } else {
    memory_->mend();
  }
}

Status RunState::leave_memory() {
  SLUICE_RETURN_IF_ERROR(park());
  memory_ = std::make_shared<exec::RunMemory>(memory_->machine());
  return {};
}

}  // namespace sluice::train
