// A step as certificates want it, with what it refers to.
#pragma once

#include <vector>

#include "sluice/plan/verify/certificate.hpp"
#include "sluice/planners/bound/two_tiers.hpp"

namespace sluice {

struct StepToBound {
  // `tiers`: the machine, or a view of it. `encoded`: tensors may move encoded.
  StepToBound(const Graph& graph, const CostModel& costs, const Machine& machine, const TwoTiers& tiers, bool encoded);
  StepToBound(const StepToBound&) = delete;
  StepToBound& operator=(const StepToBound&) = delete;

  std::vector<Seconds> op_seconds;
  std::vector<double> moved_share;
  std::vector<std::vector<UseInPlace>> in_place;
  BoundedStep step;
};

}  // namespace sluice
