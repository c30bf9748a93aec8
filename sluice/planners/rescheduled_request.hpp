// The request for planning a step whose ops run by a schedule: its graph, op times and access counts, for a planner
// that knows nothing of schedules.
#pragma once

#include <optional>

#include "sluice/planners/planner.hpp"
#include "sluice/profile/rescheduled_times.hpp"

namespace sluice {

class RescheduledRequest {
 public:
  // What `request` refers to must outlive this object. A schedule that names no op of the graph is a broken invariant.
  // `additions`: those of the planner that is to be asked.
  RescheduledRequest(const PlanRequest& request, std::vector<OpIndex> schedule, AdditionSet additions = {})
      : schedule_(std::move(schedule)),
        step_(reschedule(request.graph, schedule_).value()),
        profile_(rescheduled_times(request.profile, step_)),
        given_fingerprint_(request.graph.fingerprint()),
        given_op_count_(request.graph.op_count()),
        request_{step_.graph, profile_, request.machine, request.budgets, nullptr, additions} {
    if (request.accesses == nullptr) return;
    accesses_ = rescheduled_accesses(*request.accesses, step_);
    request_.accesses = &*accesses_;
  }
  RescheduledRequest(const RescheduledRequest&) = delete;
  RescheduledRequest& operator=(const RescheduledRequest&) = delete;

  const PlanRequest& request() const { return request_; }

  // A plan for request() as one for the graph given, with this schedule (none if it is the graph's own order).
  Plan with_schedule(Plan plan) const {
    plan.graph_fingerprint = given_fingerprint_;
    if (!is_own_order(schedule_, given_op_count_)) plan.schedule = schedule_;
    return plan;
  }

 private:
  std::vector<OpIndex> schedule_;
  Rescheduled step_;
  Profile profile_;
  std::optional<AccessProfile> accesses_;
  std::string given_fingerprint_;
  OpIndex given_op_count_;
  PlanRequest request_;
};

}  // namespace sluice
