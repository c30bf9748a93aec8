// One training step with everything in fast memory, written to a folder so that another framework can repeat it from
// the same values: initial parameters, the step's data, the loss, and every parameter's gradient.
//
//   manifest.json    {"model", "seed", "settings": {as in workload_json.hpp, and "learning_rate"},
//                     "loss": sum, "losses": {"loss": value},
//                     "parameters": [{"name", "shape", "file", "gradient"}],   in the order of their first use
//                     "buffers": [{"name", "shape", "file"}],                  running statistics, before the step
//                     "inputs": [{"name", "content", "shape", "dtype", "bound", "file"}]}
//   *.bin            values, little-endian, row-major: fp32, or int32 where an input's dtype says so
//
// Sliced parameters are joined: names and shapes are those of the whole. A gradient does not live to the end of the
// step, so it is copied when the op that updates its parameter is about to run. A batch norm's scale and shift are one
// parameter [2, C].
// Errors: kBadInput for data that does not fit, kIo and kOutOfSpace for the folder, whatever stops an op.
#pragma once

#include <filesystem>

#include "sluice/train/session.hpp"

namespace sluice::experiment {

struct GradientDumpOptions {
  std::filesystem::path folder;      // to write to
  std::filesystem::path parameters;  // of an earlier dump, to start from its parameter files; empty: initial values
  double learning_rate = 0;          // of the step's updates, which later stages of a GAN's step see
};

Status dump_gradients(train::Workload& workload, const train::SessionOptions& options, const GradientDumpOptions& dump);

}  // namespace sluice::experiment
