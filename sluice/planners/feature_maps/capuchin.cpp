// capuchin (Peng, Shi, Dai, Jin, Ma, Xiong, Yang, Qian, ASPLOS 2020, as HOME sections 1 and 4.1 and Sentinel section
// VII-C describe it): by measured times of accesses.
//
//   1. What is not used for longer than its two copies take (its free time is left over), and finds the lanes free, is
//      swapped, the longest free time first, until it fits.
//   2. Where that is not enough, copies would be waited for. Then each further feature map is swapped or made again,
//      whichever costs less, the most bytes for a second first. What is made again may need others that are made again,
//      and its cost grows by theirs. Where slow memory is full, it is made again, or kept.
//
// It decides greedily, one after the other: what is chosen later does not change what was chosen before. How many are
// chosen is the least that packs into the budget.
#include <algorithm>
#include <numeric>
#include <queue>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/feature_maps/in_trigger_feedback.hpp"
#include "sluice/planners/feature_maps/swap_lanes.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {
namespace {

struct MeasuredMap {
  Bytes bytes = 0;
  Seconds free_time = 0;  // between its uses, beyond what its copies take
  Seconds making = 0;     // of its op
};

struct Measured {
  std::vector<MeasuredMap> maps;
  SwapLanes lanes;
};

struct Decision {
  std::size_t map = 0;
  FeatureMapAction action = FeatureMapAction::kKeep;
};

Measured measure(const PlanRequest& request, const SlowTier& slow, const std::vector<FeatureMap>& maps) {
  const profile::CostModel costs(request.graph, request.profile, request.machine);
  std::vector<Seconds> begins{0};
  for (graph::OpIndex op = 0; op < request.graph.op_count(); ++op)
    begins.push_back(begins.back() + costs.op_seconds(op));
  Measured measured{.lanes = SwapLanes(request, maps, slow, begins)};
  for (const FeatureMap& map : maps) {
    const Bytes bytes = plan::stored_bytes(request.graph.tensor(map.tensor));
    const Seconds copies = costs.transfer_seconds(slow.outward, bytes) + costs.transfer_seconds(slow.inward, bytes);
    const Seconds unused = begins[as_index(map.first_backward_use)] - begins[as_index(map.last_forward_use) + 1];
    measured.maps.push_back({bytes, unused - copies, costs.op_seconds(map.writer)});
  }
  return measured;
}

class Decisions {
 public:
  // `slow_left`: what slow memory holds. `makes_again`: whether anything may be made again.
  Decisions(const graph::Graph& graph, const std::vector<FeatureMap>& maps, const Measured& measured, Bytes slow_left,
            bool makes_again)
      : graph_(graph),
        maps_(maps),
        measured_(measured.maps),
        lanes_(measured.lanes),
        slow_left_(slow_left),
        makes_again_(makes_again),
        again_(graph.tensors().size(), kNone) {}

  std::vector<Decision> all() {
    std::vector<std::size_t> order(maps_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return measured_[i].free_time; });
    std::vector<std::size_t> exposed;
    for (const std::size_t i : order) {
      if (measured_[i].free_time >= 0 && has_slow_room(i) && lanes_.waits_with(i) == 0) {
        decide({i, FeatureMapAction::kSwap});
      } else {
        exposed.push_back(i);
      }
    }
    take_the_cheapest_first(exposed);
    return std::move(decisions_);
  }

 private:
  static constexpr std::size_t kNone = as_index(-1);

  // With those that must be made again first, each once.
  Seconds making_seconds(std::size_t i) const {
    std::vector<std::size_t> chain{i};
    Seconds seconds = 0;
    for (std::size_t at = 0; at < chain.size(); ++at) {
      seconds += measured_[chain[at]].making;
      for (const graph::TensorId id : graph_.op(maps_[chain[at]].writer).inputs) {
        const std::size_t map = again_[id];
        if (map != kNone && std::ranges::find(chain, map) == chain.end()) chain.push_back(map);
      }
    }
    return seconds;
  }

  Seconds cost(std::size_t i, FeatureMapAction action) const {
    return action == FeatureMapAction::kSwap ? lanes_.waits_with(i) - lanes_.waits() : making_seconds(i);
  }

  bool has_slow_room(std::size_t i) const { return measured_[i].bytes <= slow_left_; }

  Decision cheaper(std::size_t i) const {
    const bool again = makes_again_ && maps_[i].can_be_rematerialized &&
                       (!has_slow_room(i) || cost(i, FeatureMapAction::kRecompute) < cost(i, FeatureMapAction::kSwap));
    return {i, again ? FeatureMapAction::kRecompute : FeatureMapAction::kSwap};
  }

  void decide(const Decision& decision) {
    const bool again = decision.action == FeatureMapAction::kRecompute;
    if (again) again_[maps_[decision.map].tensor] = decision.map;
    if (!again) lanes_.add(decision.map);
    slow_left_ -= again ? 0 : measured_[decision.map].bytes;
    decisions_.push_back(decision);
  }

  // The most memory saved for each second. What one costs only grows with those that are taken: who was the cheapest
  // and still is need not be compared with the others again.
  void take_the_cheapest_first(const std::vector<std::size_t>& exposed) {
    const auto seconds_for_byte = [&](std::size_t i) {
      return cost(i, cheaper(i).action) / static_cast<double>(measured_[i].bytes);
    };
    std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>, std::greater<>>
        left;
    for (const std::size_t i : exposed) left.emplace(seconds_for_byte(i), i);
    while (!left.empty()) {
      const std::size_t i = left.top().second;
      left.pop();
      const double now = seconds_for_byte(i);
      if (!left.empty() && now > left.top().first) {
        left.emplace(now, i);
        continue;
      }
      const Decision decision = cheaper(i);
      if (decision.action == FeatureMapAction::kRecompute || has_slow_room(i)) decide(decision);
    }
  }

  const graph::Graph& graph_;
  const std::vector<FeatureMap>& maps_;
  const std::vector<MeasuredMap>& measured_;  // by map
  SwapLanes lanes_;
  Bytes slow_left_;
  bool makes_again_;
  IdVector<graph::TensorId, std::size_t> again_;  // by tensor: the map that is made again
  std::vector<Decision> decisions_;
};

constexpr std::size_t kStrides = 32;

struct DecidedPlan {
  FeatureMapPlan decided;
  plan::Plan plan;
};

// With the first decisions, as many as it takes. More of them need not take less memory: what is made again for another
// waits for its own reader. So the first number that fits is looked for in strides from below, then within the stride.
Result<DecidedPlan> plan_with_fewest(const PlanRequest& request, FeatureMapPlan wanted,
                                     const std::vector<Decision>& decisions) {
  const auto plan_first = [&](std::size_t count) -> Result<DecidedPlan> {
    wanted.actions.assign(wanted.maps.size(), FeatureMapAction::kKeep);
    for (std::size_t i = 0; i < count; ++i) wanted.actions[decisions[i].map] = decisions[i].action;
    SLUICE_ASSIGN(plan::Plan plan, plan_actions(request, wanted));
    return DecidedPlan{wanted, std::move(plan)};
  };
  const std::size_t stride = std::max<std::size_t>(1, decisions.size() / kStrides);
  std::size_t enough = 0;
  Result<DecidedPlan> best = plan_first(0);
  while (!best.ok() && enough < decisions.size()) {
    enough = std::min(enough + stride, decisions.size());
    best = plan_first(enough);
  }
  std::size_t too_few = enough - std::min(enough, stride);
  while (best.ok() && enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    Result<DecidedPlan> plan = plan_first(middle);
    (plan.ok() ? enough : too_few) = middle;
    if (plan.ok()) best = std::move(plan);
  }
  return best;
}

// As published; where what is made again takes too much memory, swapped alone; where slow memory is full, made again alone.
Result<DecidedPlan> decide(const PlanRequest& request, const SlowTier& slow) {
  const FeatureMapPlan wanted{.planner = "capuchin",
                              .maps = find_feature_maps(request.graph, graph::analyze_liveness(request.graph))};
  const Measured measured = measure(request, slow, wanted.maps);
  const Bytes slow_room = request.budgets[as_index(slow.id)];
  const auto plan_with = [&](Bytes room, bool makes_again) {
    const std::vector<Decision> decisions = Decisions(request.graph, wanted.maps, measured, room, makes_again).all();
    return plan_with_fewest(request, wanted, decisions);
  };
  Result<DecidedPlan> plan = plan_with(slow_room, true);
  if (!plan.ok()) plan = plan_with(slow_room, false);
  return plan.ok() ? std::move(plan) : plan_with(0, true);
}

struct CapuchinConfig {
  int corrections = 60;
};

const Settings& capuchin_settings() {
  static const Settings all{
      CapuchinConfig{},
      {setting<&CapuchinConfig::corrections>(
          {"corrections", "steps at most after which what came late is fetched earlier; 0: none", "ours", 0, 1e6})}};
  return all;
}

Result<std::unique_ptr<PlanSearch>> start_capuchin(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("capuchin", request.machine));
  SLUICE_ASSIGN(DecidedPlan first, decide(request, slow.front()));
  const profile::CostModel costs(request.graph, request.profile, request.machine);
  std::vector<Seconds> fetch_seconds;
  for (const FeatureMap& map : first.decided.maps) {
    const Bytes bytes = plan::stored_bytes(request.graph.tensor(map.tensor));
    fetch_seconds.push_back(costs.transfer_seconds(slow.front().inward, bytes));
  }
  const int steps = request.draft ? 0 : config_of<CapuchinConfig>(request).corrections;
  return std::unique_ptr<PlanSearch>(std::make_unique<InTriggerFeedback>(
      request, std::move(first.decided), std::move(fetch_seconds), std::move(first.plan), steps));
}

Result<plan::Plan> plan_capuchin(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::unique_ptr<PlanSearch> search, start_capuchin(request));
  return settle_in_simulation(*search, request);
}

}  // namespace

PlannerEntry capuchin_planner() {
  return {.name = "capuchin",
          .summary = "swapped where free time hides it, then swapped or made again by cost (Peng et al. 2020)",
          .plan = [](const PlanRequest& request) { return plan_without_repetitions(request, plan_capuchin); },
          .traits = {.decides = "greedy", .profiles = true, .moves = true, .recomputes = true},
          .search = [](const PlanRequest& request) { return search_without_repetitions(request, start_capuchin); },
          .keeps_short_lived_fast = true,
          .settings = capuchin_settings()};
}

}  // namespace sluice::planners
