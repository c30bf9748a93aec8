// Trains a small model for a few steps under a given planner, budget and tier, in this process.
//
// Op times are given, not measured, so that plans are the same on every machine and nothing has to be timed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sluice/memory/presets.hpp"
#include "sluice/testing/float_bits.hpp"
#include "sluice/train/planning/policy_run.hpp"
#include "sluice/train/session.hpp"

namespace sluice::tests {

train::Workload small_workload(const std::string& model, std::int64_t batch, int threads);
train::Workload test_workload(const train::WorkloadOptions& options);

// The file tier lies in the test's temporary folder.
// Slow tiers as --slow takes them, nearest first.
memory::Machine test_machine(int threads, const std::vector<std::string>& slow_tiers);

// Who computes: the main processor and, with `host_threads`, a second one beside it.
struct Processors {
  int threads = 1;
  int host_threads = 0;
  std::string host_backend{kDefaultBackend};
};

// The second processor updates, and takes a third of all other ops that it has kernels for.
train::Workload workload_on(train::WorkloadOptions options, const Processors& processors);
memory::Machine machine_of(const Processors& processors, const std::vector<std::string>& slow_tiers);

Result<policies::Run> test_run(const train::Workload& workload, const memory::Machine& machine,
                               const std::string& planner, const std::string& fast);
Result<plan::Plan> test_plan(const train::Workload& workload, const memory::Machine& machine,
                             const std::string& planner, const std::string& fast);

struct TrainedRun {
  std::vector<float> losses;
  std::string parameter_hash;
  Bytes bytes_moved = 0;  // in the last step
  bool operator==(const TrainedRun& other) const {
    return testing::bits_of(losses) == testing::bits_of(other.losses) && parameter_hash == other.parameter_hash;
  }
};

TrainedRun train(train::Workload& workload, const memory::Machine& machine, const plan::Plan& plan, std::int64_t steps,
                 float learning_rate = 0.05F, const train::SessionOptions& session_options = {});

}  // namespace sluice::tests
