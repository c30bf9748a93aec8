// What planners answer when somebody has ended their search (PlanningWatch::stop): the best plan so far, which says so,
// or an error where there is none yet.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "sluice/planners/planner.hpp"

namespace sluice::planners {

// `what` it is: "the best policy until then".
inline void note_interruption(plan::Plan& plan, std::string_view what) {
  plan.planner_config.emplace_back("stopped_early", what);
}

// kOutOfTime or kInterrupted.
inline Error ended_before_a_plan(std::string_view planner, const PlanRequest& request) {
  return {
      request.why_stopped(),
      fmt::format("{} was interrupted before it had a plan for {}. Give it more time (--planning-time, or no Ctrl-C), "
                  "raise --fast, or name another planner",
                  planner, request.graph.name)};
}

}  // namespace sluice::planners
