// What `sluice sweep` is asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sluice/experiment/comparison.hpp"
#include "sluice/experiment/sweep_prices.hpp"
#include "sluice/planners/planner.hpp"
#include "tools/options.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

struct SweepRequest {
  std::vector<WorkloadArguments> workloads;
  std::vector<std::string> planners;
  std::vector<MemorySize> budgets;
  std::optional<double> no_loss;  // allowed loss; then `budgets` do not matter
  std::optional<experiment::MemoryPrices> prices;
  double within = 0;                         // with prices: the loss that is allowed
  experiment::ComparisonOptions comparison;  // how to run points
};

struct SweepArguments {
  std::vector<std::string> models;  // NAME or NAME:BATCH, FILE.onnx or FILE.onnx:BATCH
  WorkloadArguments workload;       // all but the model
  MachineArguments machine;
  std::vector<std::string> planners{std::string(planners::kDefaultPlanner)};
  std::vector<std::string> fast;
  std::string no_loss;
  std::string price;
  std::string within = "10%";
  bool run = false;
  std::int64_t steps = 7;
  std::optional<double> learning_rate;
  std::string json;
  std::string html;

  void add_to(CLI::App& command);
  // Checks everything that can be checked without measuring: names, lists, models.
  Result<SweepRequest> request() const;
};

}  // namespace sluice::cli
