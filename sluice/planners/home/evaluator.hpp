// HOME's policy evaluator (section 3.4, algorithm 2): what a step takes with an action for each feature map, without
// running it, in microseconds.
//
// The paper's 2n stages are layers; here they are ops, so that memory is counted as plans count it. Over them run a clock
// of compute, and one for each way of the link. What is swapped leaves after the last op of the forward pass that reads it
// and comes while the layer before its first reader in the backward pass runs; who reads it waits for it. While an op
// finds too little memory, it waits for the front of the swap-out list; where that is empty, what was fetched ahead comes
// only when it is read, and where nothing was, the policy is infeasible. What is made again
// takes the time of its op, and of those that make what that one misses (section 2.2): each once, as it stays then until
// its last reader.
//
//   memory of an op   what everything but feature maps takes, and the feature maps that are there
//   slow memory       all that is swapped: it lies there together when the backward pass begins
//
// Cost: linear in ops and maps: a microsecond for ResNet-20. Threads: evaluate() may be called at once from several, each
// with its own Scratch.
#pragma once

#include <optional>
#include <vector>

#include "sluice/planners/feature_maps/feature_maps.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

using Policy = std::vector<FeatureMapAction>;  // by feature map

struct PolicyCost {
  bool feasible = false;
  Seconds seconds = 0;  // of the step
  Bytes excess = 0;  // what ops lack of memory, added up over the step, and slow memory lacks: 0 where it is feasible
  // Whether it is better. Of two that are infeasible, the one whose ops lack less.
  bool operator<(const PolicyCost& other) const;
};

class PolicyEvaluator {
 public:
  // `maps`: of the request's graph; both must outlive this object. `capacity`: of the fast tier.
  PolicyEvaluator(const PlanRequest& request, const std::vector<FeatureMap>& maps, const SlowTier& slow, Bytes capacity,
                  Bytes slow_capacity);

  struct Scratch {
    std::vector<Seconds> gone, here;   // by map: when its copy out, and in, is done
    std::vector<char> at_hand;         // by map: it lies in fast memory
    std::vector<std::size_t> leaving;  // the swap-out list
    std::vector<std::size_t> ahead;    // fetched and not read since
    std::vector<std::size_t> held;     // by input: the stage until which it stays
  };
  PolicyCost evaluate(const Policy& policy, Scratch& scratch) const;

  // What must be there during some op whatever the policy: less capacity than that is infeasible.
  Bytes least_bytes() const;

 private:
  struct Stage {
    Seconds seconds = 0;
    Bytes others = 0;                                                   // of what is no feature map
    Bytes across = 0;                                                   // of these, what lives before it, too
    std::vector<std::size_t> made, read_last, comes, read_first, dies;  // maps
  };
  struct Map {
    Bytes bytes = 0;
    Seconds out = 0, in = 0, again = 0;  // again: its op, and ops whose results are no feature maps
    Bytes beside = 0;                    // of the largest of these ops: its operands that are no feature maps
    std::vector<std::size_t> from;       // maps that these read
    std::vector<std::size_t> held;       // inputs of the step that these read after their lives
    std::size_t read_first = 0;          // the stage that reads it first in the backward pass
  };
  struct Input {
    Bytes bytes = 0;
    std::size_t end = 0;  // of its life: a stage
  };
  class Run;

  void find_stages(const PlanRequest& request, const std::vector<FeatureMap>& maps, const graph::Liveness& liveness);
  void find_others(const graph::Graph& graph, const std::vector<FeatureMap>& maps, const graph::Liveness& liveness);
  void find_making(const PlanRequest& request, const std::vector<FeatureMap>& maps);
  void find_held_inputs(const graph::Graph& graph, const std::vector<FeatureMap>& maps,
                        const graph::Liveness& liveness);

  profile::CostModel costs_;
  Bytes capacity_, slow_capacity_;
  std::vector<Stage> stages_;
  std::vector<Map> maps_;
  std::vector<Input> inputs_;
};

}  // namespace sluice::planners
