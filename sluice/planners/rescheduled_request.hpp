// The request for planning a step whose ops run by a schedule, or by chosen implementations and on chosen processors:
// its graph, op times and access counts, for a planner that knows nothing of either.
#pragma once

#include <memory>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/profile/rescheduled_times.hpp"

namespace sluice::planners {

class RescheduledRequest {
 public:
  // What `request` refers to must outlive this object. A schedule that names no op of the graph is a broken invariant.
  // `additions`: those of the planner that is to be asked.
  RescheduledRequest(const PlanRequest& request, std::vector<graph::OpIndex> schedule, AdditionSet additions = {})
      : RescheduledRequest(request, graph::reschedule(request.graph, schedule).value(), additions) {}

  // With request.schedule and request.choices.
  explicit RescheduledRequest(const PlanRequest& request)
      : RescheduledRequest(request, graph::chosen_step(request.graph, request.schedule, request.choices),
                           request.additions) {}

  RescheduledRequest(const RescheduledRequest&) = delete;
  RescheduledRequest& operator=(const RescheduledRequest&) = delete;

  const PlanRequest& request() const { return request_; }

  // A plan for request() as one for the graph given: with this schedule (none if it is the graph's own order) and these
  // choices. (The plan may have a schedule of its own, of the chosen graph.)
  plan::Plan for_given_graph(plan::Plan plan) const {
    plan.graph_fingerprint = given_fingerprint_;
    for (std::size_t slot = 0; slot < plan.ops.size() && !step_.choices.empty(); ++slot) {
      const std::size_t op = plan.schedule.empty() ? slot : as_index(plan.schedule[slot]);
      plan.ops[slot].implementation = step_.choices[op].implementation;
    }
    for (graph::OpIndex& op : plan.schedule) op = step_.op_of[as_index(op)];
    if (plan.schedule.empty() && !graph::is_own_order(step_.op_of, given_op_count_)) plan.schedule = step_.op_of;
    return plan;
  }

 private:
  RescheduledRequest(const PlanRequest& request, graph::Rescheduled step, AdditionSet additions)
      : step_(std::move(step)),
        profile_(profile::rescheduled_times(request.profile, step_)),
        given_fingerprint_(request.graph.fingerprint()),
        given_op_count_(request.graph.op_count()),
        request_{.graph = step_.graph,
                 .profile = profile_,
                 .machine = request.machine,
                 .budgets = request.budgets,
                 .additions = additions,
                 .config = request.config,
                 .draft = request.draft,
                 .watch = request.watch} {
    if (request.accesses == nullptr) return;
    accesses_ = profile::rescheduled_accesses(*request.accesses, step_);
    request_.accesses = &*accesses_;
  }

  graph::Rescheduled step_;
  profile::Profile profile_;
  std::optional<profile::AccessProfile> accesses_;
  std::string given_fingerprint_;
  graph::OpIndex given_op_count_;
  PlanRequest request_;
};

// A search in a rescheduled step as one in the graph given.
class RescheduledSearch final : public PlanSearch {
 public:
  // `search`: for step->request(). `config` is added to each plan's.
  RescheduledSearch(std::shared_ptr<const RescheduledRequest> step, std::unique_ptr<PlanSearch> search,
                    std::vector<std::pair<std::string, std::string>> config = {})
      : step_(std::move(step)), search_(std::move(search)), config_(std::move(config)) {
    take_plans();
  }

  const plan::Plan& plan() const override { return plan_; }
  bool done() const override { return search_->done(); }
  const plan::Plan& best() const override { return best_; }
  SearchReport report() const override { return search_->report(); }

  void observe(const StepObservation& observation) override {
    search_->observe(observation);
    take_plans();
  }

 private:
  plan::Plan given(const plan::Plan& plan) const {
    plan::Plan result = step_->for_given_graph(plan);
    result.planner_config.insert(result.planner_config.end(), config_.begin(), config_.end());
    return result;
  }

  void take_plans() {
    plan_ = given(search_->plan());
    best_ = given(search_->best());
  }

  std::shared_ptr<const RescheduledRequest> step_;
  std::unique_ptr<PlanSearch> search_;
  std::vector<std::pair<std::string, std::string>> config_;
  plan::Plan plan_;
  plan::Plan best_;
};

}  // namespace sluice::planners
