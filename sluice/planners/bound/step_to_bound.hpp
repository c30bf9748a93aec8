// A step as certificates want it, with what it refers to.
#pragma once

#include <vector>

#include "sluice/plan/verify/certificate.hpp"
#include "sluice/planners/bound/two_tiers.hpp"

namespace sluice::planners {

struct StepToBound {
  // `tiers`: the machine, or a view of it. `may_shrink`: tensors may move in fewer bytes.
  StepToBound(const graph::Graph& graph, const profile::CostModel& costs, const memory::Machine& machine,
              const TwoTiers& tiers, bool may_shrink);
  StepToBound(const StepToBound&) = delete;
  StepToBound& operator=(const StepToBound&) = delete;

  std::vector<Seconds> op_seconds;
  std::vector<double> moved_share;
  std::vector<std::vector<plan::UseInPlace>> in_place;
  plan::BoundedStep step;
};

}  // namespace sluice::planners
