#include "sluice/planners/home/evaluator.hpp"

#include <algorithm>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/schedule/rematerialization.hpp"

namespace sluice::planners {

bool PolicyCost::operator<(const PolicyCost& other) const {
  if (feasible != other.feasible) return feasible;
  return feasible ? seconds < other.seconds : excess < other.excess;
}

PolicyEvaluator::PolicyEvaluator(const PlanRequest& request, const std::vector<FeatureMap>& maps, const SlowTier& slow,
                                 Bytes capacity, Bytes slow_capacity)
    : costs_(request.graph, request.profile, request.machine), capacity_(capacity), slow_capacity_(slow_capacity) {
  const graph::Liveness liveness = graph::analyze_liveness(request.graph);
  for (const FeatureMap& map : maps) {
    const Bytes bytes = plan::stored_bytes(request.graph.tensor(map.tensor));
    maps_.push_back({.bytes = bytes,
                     .out = costs_.transfer_seconds(slow.outward, bytes),
                     .in = costs_.transfer_seconds(slow.inward, bytes)});
  }
  find_stages(request, maps, liveness);
  find_others(request.graph, maps, liveness);
  find_making(request, maps);
  find_held_inputs(request.graph, maps, liveness);
}

void PolicyEvaluator::find_stages(const PlanRequest& request, const std::vector<FeatureMap>& maps,
                                  const graph::Liveness& liveness) {
  for (graph::OpIndex op = 0; op < request.graph.op_count(); ++op)
    stages_.push_back({.seconds = costs_.op_seconds(op)});
  for (std::size_t i = 0; i < maps.size(); ++i) {
    stages_[as_index(liveness.ranges[maps[i].tensor].begin)].made.push_back(i);
    stages_[as_index(maps[i].last_forward_use)].read_last.push_back(i);
    stages_[as_index(maps[i].first_backward_use)].read_first.push_back(i);
    maps_[i].read_first = as_index(maps[i].first_backward_use);
    stages_[as_index(liveness.ranges[maps[i].tensor].end - 1)].dies.push_back(i);
    const graph::LayerSpan& before = liveness.spans[liveness.span_of_op[maps[i].first_backward_use] - 1];
    stages_[as_index(std::max(before.ops.begin, maps[i].last_forward_use + 1))].comes.push_back(i);
  }
}

void PolicyEvaluator::find_others(const graph::Graph& graph, const std::vector<FeatureMap>& maps,
                                  const graph::Liveness& liveness) {
  std::vector<Bytes> bytes;
  for (const graph::Tensor& tensor : graph.tensors())
    bytes.push_back(plan::room_for(tensor, memory::kFastTier, false).bytes);
  for (const FeatureMap& map : maps) bytes[as_index(map.tensor)] = 0;
  const std::vector<Bytes> live = graph::live_bytes(liveness, bytes);
  for (std::size_t op = 0; op < stages_.size(); ++op) stages_[op].others = stages_[op].across = live[op];
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Interval<graph::OpIndex> range = liveness.ranges[id];
    if (!range.empty() && !graph::is_persistent(graph.tensor(id).role)) {
      stages_[as_index(range.begin)].across -= bytes[as_index(id)];
    }
  }
}

void PolicyEvaluator::find_making(const PlanRequest& request, const std::vector<FeatureMap>& maps) {
  const graph::Graph& graph = request.graph;
  const std::vector<std::vector<OpValue>> reads = values_read(graph);
  const std::size_t none = maps.size();
  std::vector<std::size_t> map_of(graph.tensors().size(), none);  // by tensor
  for (std::size_t i = 0; i < maps.size(); ++i) map_of[as_index(maps[i].tensor)] = i;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    std::vector<graph::OpIndex> makers{maps[i].writer};
    for (std::size_t at = 0; at < makers.size(); ++at) {
      maps_[i].again += costs_.op_seconds(makers[at]);
      Bytes beside = 0;
      for (const graph::TensorId id : graph::distinct_operands(graph.op(makers[at]))) {
        const graph::Role role = graph.tensor(id).role;  // of inputs: they live, or are held
        const bool counts = map_of[as_index(id)] == none && !graph::is_persistent(role) && role != graph::Role::kInput;
        beside += counts ? plan::room_for(graph.tensor(id), memory::kFastTier, false).bytes : 0;
      }
      maps_[i].beside = std::max(maps_[i].beside, beside);
      for (const OpValue& value : reads[as_index(makers[at])]) {
        if (value.writer < 0 || graph.op(value.writer).phase != graph::Phase::kForward) continue;
        const std::size_t from = map_of[as_index(value.tensor)];
        if (from != none && from != i && maps[from].writer == value.writer) {
          if (std::ranges::find(maps_[i].from, from) == maps_[i].from.end()) maps_[i].from.push_back(from);
        } else if (std::ranges::find(makers, value.writer) == makers.end()) {
          makers.push_back(value.writer);
        }
      }
    }
  }
}

// What a map is made of again must be there: what the step is given cannot be made again, so it stays.
void PolicyEvaluator::find_held_inputs(const graph::Graph& graph, const std::vector<FeatureMap>& maps,
                                       const graph::Liveness& liveness) {
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Interval<graph::OpIndex> life = liveness.ranges[id];
    const bool given = graph.tensor(id).role == graph::Role::kInput && !life.empty();
    if (!given) continue;
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const std::vector<graph::TensorId>& reads = graph.op(maps[i].writer).inputs;
      if (maps[i].first_backward_use < life.end || std::ranges::find(reads, id) == reads.end()) continue;
      maps_[i].held.push_back(inputs_.size());
    }
    inputs_.push_back({plan::room_for(graph.tensor(id), memory::kFastTier, false).bytes, as_index(life.end)});
  }
}

Bytes PolicyEvaluator::least_bytes() const { return std::ranges::max(stages_, {}, &Stage::others).others; }

// One evaluation.
class PolicyEvaluator::Run {
 public:
  Run(const PolicyEvaluator& evaluator, const Policy& policy, Scratch& scratch)
      : all_(evaluator), policy_(policy), scratch_(scratch) {
    scratch.gone.assign(policy.size(), 0);
    scratch.here.assign(policy.size(), 0);
    scratch.at_hand.assign(policy.size(), 0);
    scratch.leaving.clear();
    scratch.ahead.clear();
    hold_inputs();
  }

  PolicyCost run() {
    excess_ = std::max<Bytes>(0, swapped_bytes() - all_.slow_capacity_);
    for (std::size_t at = 0; at < all_.stages_.size(); ++at) {
      const Stage& stage = all_.stages_[at];
      held_ = held_bytes(at);
      for (const std::size_t map : stage.made) appears(map);
      for (const std::size_t map : stage.comes) fetch(map);
      for (const std::size_t map : stage.read_first) bring(map, stage);
      make_room(stage.others);
      clock_ += stage.seconds;
      for (const std::size_t map : stage.read_last) leaves(map);
      for (const std::size_t map : stage.dies) disappears(map);
    }
    return {.feasible = excess_ == 0, .seconds = clock_, .excess = excess_};
  }

 private:
  bool swaps(std::size_t map) const { return policy_[map] == FeatureMapAction::kSwap; }

  void hold_inputs() {
    scratch_.held.assign(all_.inputs_.size(), 0);
    for (std::size_t map = 0; map < policy_.size(); ++map) {
      if (policy_[map] != FeatureMapAction::kRecompute) continue;
      for (const std::size_t input : all_.maps_[map].held) {
        scratch_.held[input] = std::max(scratch_.held[input], all_.maps_[map].read_first);
      }
    }
  }

  // Of inputs that have only what is made again of them to live for.
  Bytes held_bytes(std::size_t stage) const {
    Bytes bytes = 0;
    for (std::size_t input = 0; input < all_.inputs_.size(); ++input) {
      const bool held = all_.inputs_[input].end <= stage && stage <= scratch_.held[input];
      bytes += held ? all_.inputs_[input].bytes : 0;
    }
    return bytes;
  }

  Bytes swapped_bytes() const {
    Bytes bytes = 0;
    for (std::size_t map = 0; map < policy_.size(); ++map) bytes += swaps(map) ? all_.maps_[map].bytes : 0;
    return bytes;
  }

  void appears(std::size_t map) {
    scratch_.at_hand[map] = 1;
    memory_ += all_.maps_[map].bytes;
  }
  void disappears(std::size_t map) {
    if (scratch_.at_hand[map] == 0) return;
    scratch_.at_hand[map] = 0;
    memory_ -= all_.maps_[map].bytes;
  }

  void leaves(std::size_t map) {
    if (policy_[map] == FeatureMapAction::kRecompute) disappears(map);
    if (!swaps(map)) return;
    out_free_ = std::max(out_free_, clock_) + all_.maps_[map].out;
    scratch_.gone[map] = out_free_;
    scratch_.leaving.push_back(map);
  }

  // One backward layer ahead, or for an op that makes something of it again.
  void fetch(std::size_t map) {
    if (!swaps(map) || scratch_.here[map] > 0) return;
    let_go_until(map);
    in_free_ = std::max({in_free_, clock_, scratch_.gone[map]}) + all_.maps_[map].in;
    scratch_.here[map] = in_free_;
    if (scratch_.at_hand[map] != 0) return;
    appears(map);
    scratch_.ahead.push_back(map);
  }

  // The one that was fetched last, of those that nobody has read: it comes when somebody does.
  void put_off() {
    const std::size_t map = scratch_.ahead.back();
    scratch_.ahead.pop_back();
    if (scratch_.here[map] == in_free_) in_free_ -= all_.maps_[map].in;
    scratch_.here[map] = 0;
    disappears(map);
  }

  // What comes back before it is gone has been there all the time.
  void let_go_until(std::size_t map) {
    const auto found = std::find(iterator_at(scratch_.leaving, first_), scratch_.leaving.end(), map);
    if (found == scratch_.leaving.end()) return;
    scratch_.leaving.erase(found);
  }

  // By the stage that reads it first.
  void bring(std::size_t map, const Stage& stage) {
    if (swaps(map)) {
      fetch(map);
      std::erase(scratch_.ahead, map);
      clock_ = std::max(clock_, scratch_.here[map]);
    } else if (scratch_.at_hand[map] == 0) {
      rematerialize(map, stage);
    }
  }

  void rematerialize(std::size_t map, const Stage& stage) {
    for (const std::size_t from : all_.maps_[map].from) bring(from, stage);
    clock_ += all_.maps_[map].again;
    appears(map);
    make_room(stage.across + all_.maps_[map].beside);
  }

  // Lines 3 to 9 of algorithm 2; where the list is empty, what came ahead has come too early.
  void make_room(Bytes others) {
    others += held_;
    const std::vector<std::size_t>& leaving = scratch_.leaving;
    while (first_ < leaving.size() && (scratch_.gone[leaving[first_]] <= clock_ || memory_ + others > all_.capacity_)) {
      clock_ = std::max(clock_, scratch_.gone[leaving[first_]]);
      disappears(leaving[first_++]);
    }
    while (memory_ + others > all_.capacity_ && !scratch_.ahead.empty()) put_off();
    excess_ += std::max<Bytes>(0, memory_ + others - all_.capacity_);
  }

  const PolicyEvaluator& all_;
  const Policy& policy_;
  Scratch& scratch_;
  std::size_t first_ = 0;  // of the swap-out list: those before it are gone
  Seconds clock_ = 0, out_free_ = 0, in_free_ = 0;
  Bytes memory_ = 0;
  Bytes held_ = 0;    // by the stage that runs: of inputs
  Bytes excess_ = 0;  // of what ops needed, over the capacity, added up, and of what is swapped
};

PolicyCost PolicyEvaluator::evaluate(const Policy& policy, Scratch& scratch) const {
  return Run(*this, policy, scratch).run();
}

}  // namespace sluice::planners
