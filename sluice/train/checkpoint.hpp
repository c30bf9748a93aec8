// Checkpoints: one file (checkpoint_file/checkpoint_file.hpp) with everything that a training run needs to go on to the
// same bits.
//
//   header    version, model, settings, graph fingerprint, batch, seed, next step, and name and length of each tensor
//   values    every persistent tensor in tensor order, row-major; of a run whose graph changes, whole parameters by name,
//             as long as they are in the graph that has most of them
//
// Nothing in it depends on the planner, the budget or the tiers, so a run may resume under others. It is written to a
// file beside the old one, which then takes the old one's name (base/atomic_file.hpp): an interrupted or failed write
// leaves the previous checkpoint as it was. Reading checks length, checksum and every header field before the first
// tensor is touched. One tensor is staged at a time.
// Errors: kIo or kOutOfSpace while writing; kBadInput for a file that is cut short, damaged or no checkpoint;
// kMismatch for one of another version, model, optimizer, precision, batch, data or seed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/train/parameters/parameters.hpp"
#include "sluice/train/parameters/parked_tensors.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::train {

inline constexpr int kCheckpointVersion = 2;

struct CheckpointIdentity {
  std::string model;
  std::string settings;           // optimizer and precision, for people: describe_settings()
  std::string graph_fingerprint;  // of the logical graph, so that kernels' layouts do not matter
  std::int64_t batch = 0;
  std::uint64_t seed = 0;
  std::string data;  // "synthetic", "cifar10", ...
  // A run without delayed updates that this one, which has them, may go on from: what it lacks (gradients in flight)
  // begins as in a new run.
  std::optional<EarlierRun> undelayed = std::nullopt;
};

// Of a session's run. `data`: as open_data_source() reads it.
CheckpointIdentity identity_of(const Workload& workload, std::string_view data, std::uint64_t seed);

// About as much as a checkpoint of this graph's tensors takes.
std::uintmax_t bytes_of_checkpoint(const graph::Graph& graph);

// `written`: of the file, which the first rank writes alone. It reads all tensors although the file has failed, because
// other ranks read along. The status is that of reading: after an error of it the ranks are no longer in step.
Status write_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity, std::int64_t next_step,
                        ParameterAccess& access, Status& written);

// Restores all tensors and returns the step to run next.
Result<std::int64_t> read_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity,
                                     ParameterAccess& access);

// The same of a run whose graph changes, between two graphs: all that any of them has had so far. Reading refuses tensors
// that `graph` has and the checkpoint has not.
Status write_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity, std::int64_t next_step,
                        const ParkedTensors& tensors);
Result<std::int64_t> read_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity,
                                     const graph::Graph& graph, ParkedTensors& tensors);

}  // namespace sluice::train
