// How a finished training run looks on the terminal and in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/memory/machine.hpp"
#include "sluice/train/training_loop.hpp"
#include "tools/step_log.hpp"

namespace sluice {

struct TrainSummary {
  TrainingOutcome outcome;
  std::string parameter_hash;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

// Step time, stall, loss, validation and the parameters' hash; `predicted`: the step time that the plan promised.
Fields summary_fields(const StepLog& log, const TrainSummary& summary, std::optional<Seconds> predicted);

// "done at step 100" and the fields.
std::string describe_end(const TrainSummary& summary, const Machine& machine, const Fields& fields);

// Adds what the run came to.
void add_to_json(nlohmann::json& document, const StepLog& log, const TrainSummary& summary);

Status check_losses_written(const StepLog& log, const std::string& path);

}  // namespace sluice
