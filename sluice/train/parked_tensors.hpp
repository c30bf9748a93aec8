// Persistent tensors on disk while their executor is gone: between the training and the evaluation of one run, so that
// both can have the whole budget. Row-major fp32 in a nameless file that nothing outlives; exact.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sluice/memory/machine.hpp"
#include "sluice/memory/spill_file.hpp"
#include "sluice/train/parameters.hpp"

namespace sluice {

class ParkedTensors {
 public:
  // Writes all persistent tensors of `access` to a file in `folder`. Errors: kOutOfSpace, kIo.
  static Result<ParkedTensors> park(ParameterAccess& access, const std::string& folder);

  // Gives every persistent tensor of `access` the value of the parked one of its name. kMismatch when there is none, or
  // it has another length.
  Status restore(ParameterAccess& access) const;

 private:
  struct Place {
    Bytes offset = 0;
    std::int64_t elements = 0;
  };

  explicit ParkedTensors(SpillFile file) : file_(std::move(file)) {}

  SpillFile file_;
  std::map<std::string, Place> places_;
};

// Where a run may put files: the folder of the machine's file tier, else default_spill_path().
std::string scratch_folder(const Machine& machine);

}  // namespace sluice
