// Options that several subcommands share, and what they stand for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/experiment/machine_probe.hpp"
#include "sluice/measure/profiler.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/train/planning/planning.hpp"
#include "sluice/train/session.hpp"
#include "sluice/train/workload/workload.hpp"
#include "tools/terminal/messages.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

struct WorkloadArguments {
  std::string model;
  std::string onnx;
  std::string loss = "auto";
  std::optional<std::int64_t> batch, image_size, classes, sequence, width, depth;
  std::optional<float> dropout;
  std::string optimizer = "sgd";
  std::map<std::string, std::optional<double>> hyperparameters = {};  // by name, of all optimizers
  graph::OptimizerOptions update;                                     // all but these
  bool keep_norm_outputs = false;
  std::string precision = "fp32";
  int finer_slices = 1;

  void add_to(CLI::App& command);
  void add_settings_to(CLI::App& command);  // all but which model
  Result<train::WorkloadOptions> options(int threads) const;

 private:
  void add_model_options(CLI::App& command);
  void add_optimizer_options(CLI::App& command);
  Result<models::ModelOptions> shape() const;
  Result<graph::OptimizerOptions> optimizer_options() const;
};

struct MachineArguments {
  int threads = 0;                // 0: all processors
  bool gpu = false;               // compute there; its memory is the fast tier
  std::vector<std::string> slow;  // as parse_slow_tier() reads them; none: file, or with a GPU host
  std::string spill_dir;
  std::string link_bandwidth;
  std::string network;  // empty: as if ranks had nothing to send
  std::string cache_dir;
  std::string processors;       // as parse_processors() reads them; empty: the CPU alone
  std::vector<std::string> on;  // as choose_processors() reads them
  std::string choices_of;       // a plan file whose implementations and processors all plans are to have

  void add_threads_to(CLI::App& command);
  void add_to(CLI::App& command);    // threads and the rest
  Result<int> thread_count() const;  // of the main processor
  Result<std::vector<memory::ProcessorRequest>> processor_requests() const;
  // Not yet probed. `whole`: what 100 % of a slow tier's capacity means (fast_only_bytes()); without it a percentage is
  // kBadInput.
  Result<memory::Machine> machine(const std::optional<Bytes>& whole = std::nullopt) const;
  profile::ProfileCache open_cache(const memory::Machine& machine) const;
};

// Files with what was measured before (`sluice profile --save`). Without a file, times come from the cache or are
// measured, and planners work without access counts.
struct ProfileArguments {
  std::string times = {};
  std::string accesses = {};
  bool estimate = false;                            // sluice plan: nothing is measured
  Seconds most_seconds = measure::kUsualProfiling;  // to measure ops
  bool cold = false;                                // cold times too

  void add_to(CLI::App& command);
};

// A model and the machine it is to run on, not yet probed.
struct ModelOnMachine {
  train::Workload workload;
  memory::Machine machine;
};
// Measures or remembers what tiers and links do, with a line of progress.
Status probe_with_progress(memory::Machine& machine, profile::ProfileCache& cache, experiment::Probe probe);

// Prints the workload's notes.
Result<ModelOnMachine> build_model(const WorkloadArguments& workload, const MachineArguments& machine);

// Everything between the arguments and a planner.
struct Prepared : ModelOnMachine {
  profile::Profile profile;
  bool estimated = false;  // figures to begin with (experiment/first_figures.hpp): steps are to measure them
  std::optional<profile::AccessProfile> accesses;

  const profile::AccessProfile* access_counts() const { return accesses ? &*accesses : nullptr; }
};
Result<Prepared> prepare(const WorkloadArguments& workload, const MachineArguments& machine, experiment::Probe probe,
                         const ProfileArguments& profile = {});
// The same for a model that is built: `prepared` gets figures that are measured or remembered, or else those to begin
// with.
Status add_figures(Prepared& prepared, const MachineArguments& arguments, experiment::Probe probe,
                   const ProfileArguments& profile = {});
Status add_first_figures(Prepared& prepared, const MachineArguments& arguments);

// What a plan from a file is about. The plan is not verified.
struct PlannedModel : ModelOnMachine {
  policies::Run run;
};
Result<PlannedModel> read_planned_model(const std::string& plan, const WorkloadArguments& workload,
                                        const MachineArguments& machine);

// What tensors would take encoded: measured in steps of the session's data inside the budget, or from the cache or the
// profile's file.
Status measure_encodings(Prepared& prepared, const MachineArguments& machine, const train::FastBudget& fast = {},
                         const train::SessionOptions& session = {});

// How long ops take by other implementations than the first, where one of the planners chooses between them, or all
// plans are to have others: measured, or from the cache or the profile's file.
Status add_implementations(Prepared& prepared, const MachineArguments& machine,
                           const std::vector<std::string>& planners);

Status measure_choices(Prepared& prepared, const MachineArguments& machine);  // in any case

// Measures all op times again, for comparisons whose baseline is not as fast as these say. Empty where the times were
// given: those are kept. Both outlive it.
std::function<Result<profile::Profile>()> measuring_again(const Prepared& prepared, const MachineArguments& machine,
                                                          const ProfileArguments& profile);

// kBadInput with the known names where one is neither a planner nor a policy.
Status check_planner_names(const std::vector<std::string>& names);

void add_json_option(CLI::App& command, std::string& path);
void add_learning_rate_option(CLI::App& command, std::optional<double>& rate);
// The rate asked for, or one that suits the optimizer.
Result<double> base_learning_rate(const std::optional<double>& asked, const std::string& optimizer);

void add_data_options(CLI::App& command, train::SessionOptions& session);
void add_trials_option(CLI::App& command, std::optional<std::int64_t>& trials);
Status check_trials(const std::optional<std::int64_t>& trials);  // kBadInput below 0
std::string planner_help();                                      // every planner and policy, a line each

}  // namespace sluice::cli
