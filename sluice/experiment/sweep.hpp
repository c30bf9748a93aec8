// Slowdown over fast budget for one workload: the curves of Sentinel's figures 10 and 11, and ReDL's figure 11.
//
// A point is planned and simulated. measure() also runs the planners of one budget beside the baseline, as
// comparison.hpp does. The profile is given once and serves every budget. When a planner cannot do something, its point
// says so; the sweep itself does not fail.
#pragma once

#include <map>

#include "sluice/experiment/comparison.hpp"
#include "sluice/experiment/sweep_result.hpp"

namespace sluice::experiment {

class BudgetSweep {
 public:
  // All outlive the sweep. `accesses`: what was counted, for planners that weigh by it; none: every use counts once.
  BudgetSweep(const train::Workload& workload, const memory::Machine& machine, const profile::Profile& profile,
              const profile::AccessProfile* accesses = nullptr);

  // Nothing swept yet: names and what everything takes.
  SweptModel begin(std::string_view model) const;

  // Plans and simulates once. When a budget was too small, the planner's smallest feasible one is remembered, and
  // smaller budgets fail without planning. A plan for less memory is a plan for more: where one of an earlier call is
  // faster, it is the point's. So a curve that is asked for by rising budgets never rises. `bounded`: the point gets a
  // bound (planners/bound), for seconds of work; for policies there is none.
  SweepPoint predict(std::string_view planner, Bytes budget, bool bounded = false);

  using OnBudget = std::function<void(int tried, int of)>;

  // The smallest budget on a grid of hundredths of everything with a predicted loss of at most `allowed`, by bisection:
  // about seven budgets, and as many to find the smallest feasible one. Bisection takes for granted that the loss falls
  // as the budget grows, because more memory can do what less can. Planners are heuristics, so budgets just below the
  // one found are tried as well.
  // `on_budget`: called before each with how many were tried, and an estimate of how many there will be.
  NoLossPoint find_no_loss(std::string_view planner, double allowed, const OnBudget& on_budget = {});

  // Runs the feasible points, all planned for one budget, and fills in what is measured. Planners and budget come from
  // the points, everything else from `options`. Errors: kInterrupted where `stop` says so, and those of the baseline.
  Status measure(std::span<SweepPoint* const> points, ComparisonOptions options, const ComparisonProgress& progress,
                 const std::function<bool()>& stop) const;

 private:
  void fail(SweepPoint& point, const Error& error);
  struct PlannedPoint {
    SweepPoint point;
    std::optional<plan::Plan> plan;  // none for policies, nor where the point is a failure
  };

  PlannedPoint predict_own(std::string_view planner, Bytes budget);
  Seconds bound_of(const PlannedPoint& planned) const;
  bool tries_less(std::string_view planner, double allowed, Bytes budget, NoLossPoint& found);

  const train::Workload& workload_;
  const memory::Machine& machine_;
  const profile::Profile& profile_;
  const profile::AccessProfile* accesses_;
  Bytes whole_;
  Seconds baseline_seconds_;
  std::map<std::string, Bytes, std::less<>> smallest_;                  // feasible budget by planner, where known
  std::map<std::string, std::vector<PlannedPoint>, std::less<>> done_;  // feasible points by planner
};

}  // namespace sluice::experiment
