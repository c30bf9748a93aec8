// A plan that can be run: the plan, the graph in whose ops it counts, and its program; made together, once, and handed on.
#pragma once

#include <memory>

#include "sluice/plan/plan_graph.hpp"
#include "sluice/program/program.hpp"

namespace sluice::program {

class LoweredPlan {
 public:
  // `graph` must outlive it. Errors: those of lower_plan().
  static Result<std::shared_ptr<const LoweredPlan>> make(const graph::Graph& graph, const memory::Machine& machine,
                                                         plan::Plan plan);
  LoweredPlan(const LoweredPlan&) = delete;
  LoweredPlan& operator=(const LoweredPlan&) = delete;

  const plan::Plan& plan() const { return plan_; }
  const plan::PlanGraph& step() const { return step_; }
  const graph::Graph& graph() const { return step_.graph(); }
  const Program& program() const { return program_; }

 private:
  LoweredPlan(const graph::Graph& graph, plan::Plan plan) : plan_(std::move(plan)), step_(graph, plan_) {}

  plan::Plan plan_;
  plan::PlanGraph step_;
  Program program_;
};

}  // namespace sluice::program
