// Ways to break a sound plan, each against one rule of the verifier.
//
// A mutation changes a random valid plan (random_plan.hpp) by as little as it takes: the verifier must then name that
// rule, whatever else it finds.
#pragma once

#include <vector>

#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::testing {

struct PlanCase {
  graph::Graph graph;
  memory::Machine machine;
  plan::Plan plan;
  SeededRandom random;
};

struct PlanMutation {
  const char* name;
  plan::Rule rule;            // that it breaks
  bool (*mutate)(PlanCase&);  // false when the case offers nothing to break that way
};

std::vector<PlanMutation> plan_mutations();

}  // namespace sluice::testing
