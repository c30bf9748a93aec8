// A step as certificates want it, with what it refers to.
#pragma once

#include <vector>

#include "sluice/memory/machine.hpp"
#include "sluice/plan/verify/certificate.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice {

// Whether prices prove anything of it: ops run on one processor, and every slow tier has links to and from the fast one.
bool has_prices(const Graph& graph, const Machine& machine);

struct StepToBound {
  // `fast`: the budget. `encoded`: tensors may move encoded.
  StepToBound(const Graph& graph, const CostModel& costs, const Machine& machine, Bytes fast, bool encoded);
  StepToBound(const StepToBound&) = delete;
  StepToBound& operator=(const StepToBound&) = delete;

  std::vector<Seconds> op_seconds;
  std::vector<double> moved_share;
  BoundedStep step;
  std::vector<std::vector<UseInPlace>> in_place;
};

}  // namespace sluice
