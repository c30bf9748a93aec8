#include "sluice/graph/rewrite/half_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

bool casts_to_half(const Graph& graph, const Op& op) {
  return op.kind == OpKind::kCast && is_half(graph.tensor(op.outputs[0]).dtype);
}

// bf16 or fp16: a step in mixed precision has one of them.
DType half_type(const Graph& mixed) {
  const auto cast = std::ranges::find_if(mixed.ops(), [&](const Op& op) { return casts_to_half(mixed, op); });
  return cast == mixed.ops().end() ? DType::kBF16 : mixed.tensor(cast->outputs[0]).dtype;
}

// By tensor: a parameter in fp32 that is updated, and read in no other way than by casts to 16 bits.
std::vector<bool> halved_parameters(const Graph& graph) {
  std::vector<bool> cast(graph.tensors().size(), false), updated(cast), otherwise(cast);
  for (const Op& op : graph.ops()) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      std::vector<bool>& use = is_update(op.kind) && i == 0 ? updated : casts_to_half(graph, op) ? cast : otherwise;
      use[as_index(op.inputs[i])] = true;
    }
  }
  std::vector<bool> halved(cast.size(), false);
  for (std::size_t id = 0; id < halved.size(); ++id) {
    const bool parameter = graph.tensor(as_id<TensorId>(id)).role == Role::kParameter;
    halved[id] = parameter && cast[id] && updated[id] && !otherwise[id];
  }
  return halved;
}

class Halving {
 public:
  explicit Halving(const Graph& graph)
      : graph_(graph),
        half_(half_type(graph)),
        halved_(halved_parameters(graph)),
        new_ids_(graph.tensors().size(), -1) {}

  Graph run() && {
    result_.name = graph_.name;
    result_.layers = graph_.layers;
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (is_persistent(graph_.tensor(id).role)) add_persistent(id);
    }
    for (const Op& op : graph_.ops()) {
      if (casts_to_half(graph_, op) && halved_[as_index(op.inputs[0])]) {
        new_ids_[as_index(op.outputs[0])] = new_id(op.inputs[0]);
      } else {
        add_op(op);
      }
    }
    return std::move(result_);
  }

 private:
  void add_persistent(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    if (halved_[as_index(id)]) {
      Tensor master = tensor;
      name_beside(master, whole_name(tensor) + ".master", tensor);
      master.parameter = parameter_name(tensor);
      master.slot = kMaster;
      master.role = Role::kOptimizerState;
      masters_[id] = result_.add_tensor(std::move(master));
    }
    new_ids_[as_index(id)] = halved_[as_index(id)] ? add_half(tensor) : result_.add_tensor(tensor);
  }

  TensorId add_half(Tensor tensor) {
    tensor.dtype = half_;
    tensor.bytes = 0;
    return result_.add_tensor(std::move(tensor));
  }

  TensorId new_id(TensorId id) {
    TensorId& made = new_ids_[as_index(id)];
    return made >= 0 ? made : made = result_.add_tensor(graph_.tensor(id));
  }

  void add_op(Op op) {
    const TensorId first = op.inputs.empty() ? -1 : op.inputs[0];
    for (TensorId& id : op.inputs) id = new_id(id);
    for (TensorId& id : op.outputs) id = new_id(id);
    if (is_update(op.kind) && halved_[as_index(first)]) {
      const TensorId half = std::exchange(op.inputs[0], masters_.at(first));
      op.outputs[0] = op.inputs[0];
      op.outputs.push_back(half);
      op.inputs[1] = add_gradient_cast(op);
    }
    result_.add_op(std::move(op));
  }

  TensorId add_gradient_cast(const Op& update) {
    Tensor gradient = result_.tensor(update.inputs[1]);
    name_beside(gradient, fmt::format("{}.{}", whole_name(gradient), to_string(half_)), gradient);
    const TensorId half = add_half(std::move(gradient));
    const std::string name = result_.tensor(half).name + ".cast";
    result_.add_op({.name = name,
                    .kind = OpKind::kCast,
                    .inputs = {update.inputs[1]},
                    .outputs = {half},
                    .layer = update.layer,
                    .phase = Phase::kBackward});
    return half;
  }

  const Graph& graph_;
  DType half_;
  std::vector<bool> halved_;              // by TensorId of graph_
  std::vector<TensorId> new_ids_;         // by TensorId of graph_; -1 before it is made
  std::map<TensorId, TensorId> masters_;  // of halved parameters of graph_
  Graph result_;
};

}  // namespace

Graph keep_half_parameters(const Graph& mixed) { return Halving(mixed).run(); }

}  // namespace sluice::graph
