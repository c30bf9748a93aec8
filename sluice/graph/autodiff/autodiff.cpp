#include "sluice/graph/autodiff/autodiff.hpp"

#include <fmt/format.h>

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/gradients.hpp"
#include "sluice/graph/autodiff/rematerialize.hpp"
#include "sluice/graph/in_place.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

Graph tensors_of(const Graph& forward) {
  Graph graph;
  graph.name = forward.name;
  graph.layers = forward.layers;
  for (const Tensor& tensor : forward.tensors()) graph.add_tensor(tensor);
  return graph;
}

class TrainingStep {
 public:
  TrainingStep(const Graph& forward, const OptimizerOptions& options)
      : forward_(forward), options_(options), graph_(tensors_of(forward)), tape_(graph_) {}

  Graph run() && {
    std::vector<Stage> stages = forward_.stages;
    if (stages.empty()) stages.push_back({forward_.op_count(), all_parameters()});
    SLUICE_CHECK(stages.back().end == forward_.op_count(), "graph " + forward_.name + " has ops after its last stage");
    OpIndex begin = 0;
    for (const Stage& stage : stages) {
      append_forward(begin, stage.end);
      append_backward(begin, stage);
      begin = stage.end;
    }
    return std::move(graph_);
  }

 private:
  std::vector<TensorId> all_parameters() const {
    std::vector<TensorId> all;
    for (TensorId id = 0; id < forward_.tensor_count(); ++id) {
      if (forward_.tensor(id).role == Role::kParameter) all.push_back(id);
    }
    return all;
  }

  void append_forward(OpIndex begin, OpIndex end) {
    bool has_loss = false;
    for (OpIndex index = begin; index < end; ++index) {
      const Op& op = forward_.op(index);
      SLUICE_CHECK(op.phase == Phase::kForward, "op " + op.name + " is not a forward op");
      has_loss = has_loss || is_loss(op.kind);
      graph_.add_op(op);
    }
    SLUICE_CHECK(has_loss, "graph " + forward_.name + " has no loss to differentiate");
  }

  void append_backward(OpIndex begin, const Stage& stage) {
    tape_.begin_stage(std::span(forward_.ops()).first(as_index(stage.end)), stage.trained);
    std::vector<int> pending_uses(forward_.tensors().size());
    for (OpIndex index = 0; index < stage.end; ++index) {
      for (const TensorId id : forward_.op(index).inputs) ++pending_uses[as_index(id)];
    }
    // Reverse mode. A parameter is updated as soon as its last gradient is there, so that the gradient dies at once.
    for (OpIndex index = stage.end - 1; index >= 0; --index) {
      const Op& op = forward_.op(index);
      if (index >= begin || !is_loss(op.kind)) differentiate_with_old_values(op, index < begin);
      for (const TensorId id : op.inputs) {
        if (--pending_uses[as_index(id)] == 0 && forward_.tensor(id).role == Role::kParameter) update(op, id);
      }
    }
  }

  // An op of an earlier stage ran with parameters that an update may have overwritten since.
  void differentiate_with_old_values(const Op& op, bool earlier) {
    const OpIndex before = graph_.op_count();
    differentiate(tape_, op);
    if (!earlier || graph_.op_count() == before) return;
    for (const TensorId id : op.inputs) {
      SLUICE_CHECK(!state_.contains(id), "op " + op.name + " is differentiated after the update of " +
                                             forward_.tensor(id).name + ", which it ran before");
    }
  }

  const std::vector<TensorId>& optimizer_state(TensorId parameter) {
    const auto [found, added] = state_.try_emplace(parameter);
    if (!added) return found->second;
    for (const std::string_view slot : slots_of(optimizer_row(options_.optimizer).kind)) {
      Tensor tensor;
      tensor.name = fmt::format("{}.{}", forward_.tensor(parameter).name, slot);
      tensor.shape = forward_.tensor(parameter).shape;
      tensor.role = Role::kOptimizerState;
      tensor.parameter = forward_.tensor(parameter).name;
      tensor.slot = slot;
      found->second.push_back(graph_.add_tensor(std::move(tensor)));
    }
    return found->second;
  }

  void update(const Op& at, TensorId parameter) {
    const std::optional<TensorId> gradient = tape_.gradient(at, parameter);
    if (!gradient) return;
    Op op;
    op.name = tape_.distinct(forward_.tensor(parameter).name + ".update");
    op.layer = at.layer;
    op.phase = Phase::kUpdate;
    const OptimizerRow& optimizer = optimizer_row(options_.optimizer);
    op.kind = optimizer.kind;
    UpdateAttributes attributes;
    optimizer.fill(options_, attributes);
    const auto own = options_.by_parameter.find(forward_.tensor(parameter).name);
    const bool has_own = own != options_.by_parameter.end();
    attributes.weight_decay = has_own ? own->second.weight_decay : options_.weight_decay;
    attributes.rate = has_own ? own->second.rate : 0;
    op.attributes = attributes;
    op.inputs = {parameter, *gradient};
    op.outputs = {parameter};
    for (const TensorId state : optimizer_state(parameter)) {
      op.inputs.push_back(state);
      op.outputs.push_back(state);
    }
    graph_.add_op(std::move(op));
  }

  const Graph& forward_;
  const OptimizerOptions options_;
  Graph graph_;
  GradientTape tape_;
  std::map<TensorId, std::vector<TensorId>> state_;  // the optimizer's, by parameter updated so far
};

}  // namespace

Graph build_training_graph(const Graph& forward, const OptimizerOptions& options) {
  Graph graph = TrainingStep(forward, options).run();
  if (options.rematerialize != Rematerialize::kNothing) rematerialize_activations(graph, options.rematerialize);
  set_in_place_candidates(graph);
  return graph;
}

}  // namespace sluice::graph
