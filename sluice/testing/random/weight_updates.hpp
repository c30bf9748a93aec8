// The gradients and updates of a random graph's weights: when each is due.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sluice/testing/random/graph_sketch.hpp"

namespace sluice::testing {

// Decides at random, by the seed, between one and two states per weight, and between updates after each gradient and at
// the end of a stage.
class WeightUpdates {
 public:
  WeightUpdates(SeededRandom& random, GraphSketch& sketch)
      : sketch_(sketch), at_end_(random.chance(0.3)), adam_(random.chance(0.4)) {}

  // A forward op of the stage used the weight, so this many gradients will come.
  void expect(graph::TensorId weight, int gradients = 1) { expected_[weight] += gradients; }

  // Emits an op that makes the weight's gradient from x and dy: where there is one already, it is accumulated in place.
  void add_gradient(graph::OpKind kind, graph::TensorId x, graph::TensorId dy, graph::TensorId weight) {
    const auto [found, first] = gradients_.try_emplace(weight, -1);
    if (first) found->second = sketch_.add_like("dw", graph::Role::kGradient, weight);
    std::vector<graph::TensorId> inputs = {x, dy};
    if (!first) inputs.push_back(found->second);
    sketch_.emit(kind, std::move(inputs), {found->second}, {.accumulate = !first});
    count_gradient(weight, found->second);
  }

  // One of the expected gradients is in the tensor; after the last, the weight is updated.
  void count_gradient(graph::TensorId weight, graph::TensorId gradient) {
    if (--expected_.at(weight) > 0) return;
    if (at_end_) {
      waiting_.emplace_back(weight, gradient);
    } else {
      update(weight, gradient);
    }
  }

  void end_stage() {
    for (const auto& [weight, gradient] : waiting_) update(weight, gradient);
    waiting_.clear();
    gradients_.clear();
    expected_.clear();
  }

 private:
  void update(graph::TensorId weight, graph::TensorId gradient) {
    std::vector<graph::TensorId>& states = states_[weight];
    for (std::size_t i = states.size(); i < (adam_ ? 2U : 1U); ++i)
      states.push_back(sketch_.add_like("state" + std::to_string(i), graph::Role::kOptimizerState, weight));
    std::vector<graph::TensorId> inputs = {weight, gradient}, outputs = {weight};
    inputs.insert(inputs.end(), states.begin(), states.end());
    outputs.insert(outputs.end(), states.begin(), states.end());
    sketch_.set_phase(graph::Phase::kUpdate);
    sketch_.emit(adam_ ? graph::OpKind::kAdamUpdate : graph::OpKind::kSgdUpdate, std::move(inputs), std::move(outputs));
    sketch_.set_phase(graph::Phase::kBackward);
  }

  GraphSketch& sketch_;
  bool at_end_, adam_;
  std::map<graph::TensorId, int> expected_;               // gradients of the stage, still to come
  std::map<graph::TensorId, graph::TensorId> gradients_;  // of the stage, so far
  std::map<graph::TensorId, std::vector<graph::TensorId>> states_;
  std::vector<std::pair<graph::TensorId, graph::TensorId>> waiting_;  // weights and gradients
};

}  // namespace sluice::testing
