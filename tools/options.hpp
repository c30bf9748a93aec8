// Options that several subcommands share, and what they stand for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "sluice/memory/presets.hpp"
#include "sluice/train/machine_probe.hpp"
#include "sluice/train/planning.hpp"
#include "sluice/train/workload.hpp"

namespace sluice {

struct WorkloadArguments {
  std::string model;
  std::optional<std::int64_t> batch, image_size, classes;
  float momentum = OptimizerOptions{}.momentum;
  float weight_decay = OptimizerOptions{}.weight_decay;

  void add_to(CLI::App& command);
  Result<WorkloadOptions> options(int threads) const;
};

struct MachineArguments {
  int threads = 0;  // 0: all processors
  std::string slow = "file";
  std::string spill_dir;
  std::string link_bandwidth;
  std::string cache_dir;

  void add_threads_to(CLI::App& command);
  void add_to(CLI::App& command);  // threads and the rest
  Result<int> thread_count() const;
  Result<Machine> machine() const;  // not yet probed
  ProfileCache open_cache(const Machine& machine) const;
};

struct BudgetArguments {
  std::string fast;

  void add_to(CLI::App& command);
  Result<std::optional<MemorySize>> size() const;
};

// Everything between the arguments and a planner.
struct Prepared {
  Workload workload;
  Machine machine;
  Profile profile;
};
Result<Prepared> prepare(const WorkloadArguments& workload, const MachineArguments& machine, Probe probe);

void add_json_option(CLI::App& command, std::string& path);
void add_planner_option(CLI::App& command, std::string& planner);

}  // namespace sluice
