// How `sluice train` comes to the plan that its first step obeys.
//
//   --plan FILE            that one
//   everything fits        at once, without figures (experiment/first_figures.hpp)
//   a better one may come  by figures to begin with, in two seconds; steps measure (train/plan_changes/watched_training.hpp)
//   else                   by what was measured before
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "sluice/train/plan_changes/start.hpp"
#include "tools/train_arguments.hpp"

namespace sluice::cli {

struct Run : Prepared {             // without a profile where the plan comes from a file
  train::PlannedStart start;        // refers to what was prepared: a run stays where it is
  policies::Run steps;              // what the first step obeys; at the end what is kept
  train::PlanRecord changes;        // of it, at the end
  std::optional<Seconds> baseline;  // predicted step with everything in fast memory; not known of a plan from a file
  nlohmann::json figures;           // what the plan to begin with was made with; null of a plan from a file

  const plan::Plan& plan() const { return policies::plan_of(steps); }
};

Status make_run(const TrainArguments& arguments, Run& run);

}  // namespace sluice::cli
