// capuchin (Peng, Shi, Dai, Jin, Ma, Xiong, Yang, Qian, ASPLOS 2020, as HOME sections 1 and 4.1 and Sentinel section
// VII-C describe it): by measured times of accesses.
//
//   1. What is not used for longer than its two copies take (its free time is left over) is swapped, the longest free
//      time first, until it fits.
//   2. Where that is not enough, copies would be waited for. Then each further feature map is swapped or made again,
//      whichever costs less, the most bytes for a second first. What is made again may need others that are made again,
//      and its cost grows by theirs.
//
// It decides greedily, one after the other: what is chosen later does not change what was chosen before. How many are
// chosen is the least that packs into the budget.
#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/feature_maps/feature_maps.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice {
namespace {

constexpr std::size_t kStrides = 32;

struct Measured {
  Bytes bytes = 0;
  Seconds free_time = 0;  // between its uses, beyond what its copies take; below 0: what they are waited for
  Seconds making = 0;     // of its op
};

struct Decision {
  std::size_t map = 0;
  FeatureMapAction action = FeatureMapAction::kKeep;
};

std::vector<Measured> measure(const PlanRequest& request, const SlowTier& slow, const std::vector<FeatureMap>& maps) {
  const CostModel costs(request.graph, request.profile, request.machine);
  std::vector<Seconds> begins{0};
  for (OpIndex op = 0; op < request.graph.op_count(); ++op) begins.push_back(begins.back() + costs.op_seconds(op));
  std::vector<Measured> measured;
  for (const FeatureMap& map : maps) {
    const Bytes bytes = request.graph.tensor(map.tensor).bytes;
    const Load load{map.tensor, bytes, Encoding::kNone};
    const Seconds copies = costs.transfer_seconds(slow.outward, load) + costs.transfer_seconds(slow.inward, load);
    const Seconds unused = begins[as_index(map.first_backward_use)] - begins[as_index(map.last_forward_use) + 1];
    measured.push_back({bytes, unused - copies, costs.op_seconds(map.writer)});
  }
  return measured;
}

class Decisions {
 public:
  Decisions(const PlanRequest& request, const std::vector<FeatureMap>& maps, std::vector<Measured> measured)
      : graph_(request.graph),
        maps_(maps),
        measured_(std::move(measured)),
        again_(request.graph.tensors().size(), kNone) {}

  std::vector<Decision> all() {
    std::vector<std::size_t> order(maps_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return measured_[i].free_time; });
    std::vector<std::size_t> exposed;
    for (const std::size_t i : order) {
      if (measured_[i].free_time >= 0) {
        decisions_.push_back({i, FeatureMapAction::kSwap});
      } else {
        exposed.push_back(i);
      }
    }
    while (!exposed.empty()) take_cheapest(exposed);
    return std::move(decisions_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // With those that must be made again first, each once.
  Seconds making_seconds(std::size_t i) const {
    std::vector<std::size_t> chain{i};
    Seconds seconds = 0;
    for (std::size_t at = 0; at < chain.size(); ++at) {
      seconds += measured_[chain[at]].making;
      for (const TensorId id : graph_.op(maps_[chain[at]].writer).inputs) {
        const std::size_t map = again_[id];
        if (map != kNone && std::ranges::find(chain, map) == chain.end()) chain.push_back(map);
      }
    }
    return seconds;
  }

  Seconds cost(std::size_t i, FeatureMapAction action) const {
    return action == FeatureMapAction::kSwap ? -measured_[i].free_time : making_seconds(i);
  }

  Decision cheaper(std::size_t i) const {
    const bool again =
        maps_[i].can_be_made_again && cost(i, FeatureMapAction::kRecompute) < cost(i, FeatureMapAction::kSwap);
    return {i, again ? FeatureMapAction::kRecompute : FeatureMapAction::kSwap};
  }

  // The most memory saved for each second.
  void take_cheapest(std::vector<std::size_t>& left) {
    const auto seconds_for_byte = [&](std::size_t i) {
      return cost(i, cheaper(i).action) / static_cast<double>(measured_[i].bytes);
    };
    const auto best = std::ranges::min_element(left, {}, seconds_for_byte);
    const Decision decision = cheaper(*best);
    if (decision.action == FeatureMapAction::kRecompute) again_[maps_[*best].tensor] = *best;
    decisions_.push_back(decision);
    left.erase(best);
  }

  const Graph& graph_;
  const std::vector<FeatureMap>& maps_;
  std::vector<Measured> measured_;
  IdVector<TensorId, std::size_t> again_;  // by tensor: the map that is made again
  std::vector<Decision> decisions_;
};

Result<Plan> plan_capuchin(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("capuchin", request.machine));
  FeatureMapPlan wanted{.planner = "capuchin",
                        .maps = find_feature_maps(request.graph, analyze_liveness(request.graph))};
  const std::vector<Decision> decisions =
      Decisions(request, wanted.maps, measure(request, slow.front(), wanted.maps)).all();
  const auto plan_first = [&](std::size_t count) {
    wanted.actions.assign(wanted.maps.size(), FeatureMapAction::kKeep);
    for (std::size_t i = 0; i < count; ++i) wanted.actions[decisions[i].map] = decisions[i].action;
    return plan_actions(request, wanted);
  };
  // More of them need not take less memory: what is made again for another waits for its own reader. So the first that
  // fits is looked for in strides from below, then within the stride.
  const std::size_t stride = std::max<std::size_t>(1, decisions.size() / kStrides);
  std::size_t enough = 0;
  Result<Plan> best = plan_first(0);
  while (!best.ok() && enough < decisions.size()) {
    enough = std::min(enough + stride, decisions.size());
    best = plan_first(enough);
  }
  std::size_t too_few = enough - std::min(enough, stride);
  while (best.ok() && enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    Result<Plan> plan = plan_first(middle);
    (plan.ok() ? enough : too_few) = middle;
    if (plan.ok()) best = std::move(plan);
  }
  return best;
}

}  // namespace

PlannerEntry capuchin_planner() {
  return {.name = "capuchin",
          .summary = "swapped where free time hides it, then swapped or made again by cost (Peng et al. 2020)",
          .plan = [](const PlanRequest& request) { return plan_without_repetitions(request, plan_capuchin); },
          .traits = {.decides = "greedy", .profiles = true, .moves = true, .recomputes = true},
          .keeps_short_lived_fast = true};
}

}  // namespace sluice
