// What `sluice train` is asked for.
#pragma once

#include <optional>
#include <string>

#include "sluice/train/training_loop.hpp"
#include "tools/budget_arguments.hpp"
#include "tools/options.hpp"
#include "tools/planner_arguments.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

struct TrainArguments {
  WorkloadArguments workload;
  MachineArguments machine;
  BudgetArguments budget;
  PlannerArguments planner;
  ProfileArguments profile;
  std::string plan;
  std::optional<std::int64_t> trials;  // as start_planning() takes it
  std::string replan_beyond;           // empty: kUsualDrift
  bool no_replan = false;
  std::string save_plan;
  std::string sequences;  // empty: every step has the same length
  std::int64_t steps = 100;
  std::optional<double> learning_rate;
  std::string schedule = "constant";
  train::SessionOptions session;
  std::string checkpoint, resume, trace, losses, json, export_onnx;
  std::int64_t checkpoint_every = 0;
  std::optional<std::int64_t> validate_every;
  std::int64_t validation_batches = 0;
  bool no_validation = false;

  void add_to(CLI::App& command);
  Status check() const;
  bool validates() const;
  Result<double> drift_to_replan() const;
  Result<train::TrainingOptions> loop_options(std::int64_t first_step) const;
};

}  // namespace sluice::cli
