// How a finished training run looks on the terminal and in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/profile/profile.hpp"
#include "sluice/train/training_loop.hpp"
#include "tools/step_log.hpp"

namespace sluice::cli {

struct TrainSummary {
  train::TrainingOutcome outcome;
  std::string parameter_hash;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

// Step time, stall, loss, validation and the parameters' hash; `predicted`: the step time that the plan promised.
Fields summary_fields(const StepLog& log, const TrainSummary& summary, std::optional<Seconds> predicted);

// That the plan is made with estimates, of what, and what becomes of it.
std::string describe_estimates(const profile::Profile& profile, const plan::Plan& plan);
// What a plan was made with.
nlohmann::json figures_json(const profile::Profile& profile, bool estimated);

// "done at step 100" and the fields.
std::string describe_end(const TrainSummary& summary, const memory::Machine& machine, const Fields& fields);

// Adds what the run came to.
void add_to_json(nlohmann::json& document, const StepLog& log, const TrainSummary& summary);

}  // namespace sluice::cli
