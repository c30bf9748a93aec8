// A planned step: a plan that can be run, with its graph and its program (program/lowered_plan.hpp), and what it costs by
// some figures. Made once and handed on; copies share all of it.
#pragma once

#include <memory>

#include "sluice/profile/cost_model.hpp"
#include "sluice/profile/rescheduled_times.hpp"
#include "sluice/program/lowered_plan.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice::sim {

class PlannedStep {
 public:
  // `graph`, its `profile` and `machine` must outlive the step. Errors: those of lower_plan().
  static Result<PlannedStep> make(const graph::Graph& graph, const profile::Profile& profile,
                                  const memory::Machine& machine, plan::Plan plan) {
    SLUICE_ASSIGN(auto lowered, program::LoweredPlan::make(graph, machine, std::move(plan)));
    return PlannedStep(std::move(lowered), profile, machine);
  }

  // By other figures.
  PlannedStep(std::shared_ptr<const program::LoweredPlan> lowered, const profile::Profile& profile,
              const memory::Machine& machine)
      : lowered_(std::move(lowered)),
        costs_(std::make_shared<const profile::CostModel>(
            graph(), rescheduled() == nullptr ? profile : profile::rescheduled_times(profile, *rescheduled()),
            machine)) {}

  const plan::Plan& plan() const { return lowered_->plan(); }
  const plan::PlanGraph& step() const { return lowered_->step(); }
  const graph::Graph& graph() const { return lowered_->graph(); }
  const graph::Rescheduled* rescheduled() const { return step().rescheduled(); }  // nullptr: the graph's own step
  const program::Program& program() const { return lowered_->program(); }
  const profile::CostModel& costs() const { return *costs_; }

  program::StepTimes simulated() const { return simulate(program(), costs()); }

 private:
  std::shared_ptr<const program::LoweredPlan> lowered_;
  std::shared_ptr<const profile::CostModel> costs_;
};

}  // namespace sluice::sim
