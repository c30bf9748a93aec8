// `sluice train --sequences`: every step has a length of its own (sluice/train/variants/variant_training.hpp).
#pragma once

#include "tools/train_arguments.hpp"

namespace sluice::cli {

// `arguments` have been checked, and they name lengths. Returns the exit code.
Result<int> train_sequences(const TrainArguments& arguments);

}  // namespace sluice::cli
