#include "sluice/graph/slice_dense.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sluice/base/interval.hpp"

namespace sluice {
namespace {

using Features = Interval<std::int64_t>;

std::vector<Features> cut(std::int64_t features, Bytes bytes_per_feature, Bytes limit) {
  const std::int64_t fitting = std::max<std::int64_t>(1, limit / bytes_per_feature);
  const std::int64_t unit = fitting >= 16 ? 16 : 1;
  const std::int64_t units = (features + unit - 1) / unit;
  const std::int64_t slices = (units + fitting / unit - 1) / (fitting / unit);
  std::vector<Features> cuts;
  for (std::int64_t i = 0; i < slices; ++i) {
    cuts.push_back({units * i / slices * unit, std::min(features, units * (i + 1) / slices * unit)});
  }
  return cuts;
}

// The ops and tensors of one dense layer that is to be sliced, in the original graph.
struct Layer {
  std::vector<Features> cuts;
  std::set<TensorId> sliced;  // weight, bias, their gradients and momenta
  OpIndex forward = 0;
  std::vector<OpIndex> backward;  // in order: data, weights, updates
};

bool is_dense(OpKind kind) {
  return kind == OpKind::kDense || kind == OpKind::kDenseBackwardData || kind == OpKind::kDenseBackwardWeights;
}

bool names_any(const Op& op, const std::set<TensorId>& ids) {
  const auto in = [&](TensorId id) { return ids.count(id) > 0; };
  return std::any_of(op.inputs.begin(), op.inputs.end(), in) || std::any_of(op.outputs.begin(), op.outputs.end(), in);
}

Layer find_layer(const Graph& graph, OpIndex forward, Bytes limit) {
  Layer layer;
  const Op& dense = graph.op(forward);
  const Tensor& weight = graph.tensor(dense.inputs[1]);
  layer.cuts = cut(weight.shape[0], weight.bytes / weight.shape[0], limit);
  layer.forward = forward;
  layer.sliced.insert(dense.inputs.begin() + 1, dense.inputs.end());
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::kSgdUpdate || layer.sliced.count(op.inputs[0]) == 0) continue;
    layer.sliced.insert(op.inputs.begin(), op.inputs.end());
  }
  for (OpIndex index = forward + 1; index < graph.op_count(); ++index) {
    if (names_any(graph.op(index), layer.sliced)) layer.backward.push_back(index);
  }
  return layer;
}

class Slicer {
 public:
  Slicer(const Graph& graph, Bytes limit) : graph_(graph) {
    for (OpIndex index = 0; index < graph.op_count(); ++index) {
      const Op& op = graph.op(index);
      if (op.kind != OpKind::kDense || op.attributes.out_end != 0) continue;
      if (graph.tensor(op.inputs[1]).bytes > limit) layers_.push_back(find_layer(graph, index, limit));
    }
  }

  Graph run() && {
    result_.name = graph_.name;
    result_.layers = graph_.layers;
    copy_tensors();
    for (OpIndex index = 0; index < graph_.op_count(); ++index) emit(index);
    return std::move(result_);
  }

 private:
  void copy_tensors() {
    std::map<TensorId, const Layer*> layer_of;
    for (const Layer& layer : layers_) {
      for (const TensorId id : layer.sliced) layer_of[id] = &layer;
    }
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      std::vector<TensorId>& ids = new_ids_.emplace_back();
      const auto found = layer_of.find(id);
      if (found == layer_of.end()) {
        ids.push_back(result_.add_tensor(graph_.tensor(id)));
        continue;
      }
      for (const Features& features : found->second->cuts) ids.push_back(result_.add_tensor(part(id, features)));
    }
  }

  Tensor part(TensorId id, const Features& features) const {
    Tensor tensor = graph_.tensor(id);
    const std::int64_t elements_per_feature = element_count(tensor.shape) / tensor.shape[0];
    tensor.name += fmt::format("[{}:{}]", features.begin, features.end);
    tensor.shape[0] = features.length();
    tensor.bytes = 0;
    tensor.init.first_element += features.begin * elements_per_feature;
    return tensor;
  }

  void emit(OpIndex index) {
    for (const Layer& layer : layers_) {
      if (index == layer.forward) return emit_slices(layer, {index});
      if (std::count(layer.backward.begin(), layer.backward.end(), index) == 0) continue;
      if (index == layer.backward.front()) emit_slices(layer, layer.backward);
      return;  // the others of the layer went out with the first
    }
    Op op = graph_.op(index);
    rename(op, 0);
    result_.add_op(std::move(op));
  }

  // All of `indices` for the first slice, then for the next, so that a slice's gradient is short-lived.
  void emit_slices(const Layer& layer, const std::vector<OpIndex>& indices) {
    for (std::size_t slice = 0; slice < layer.cuts.size(); ++slice) {
      for (const OpIndex index : indices) emit_slice(graph_.op(index), layer.cuts[slice], slice);
    }
  }

  void emit_slice(Op op, const Features& features, std::size_t slice) {
    rename(op, slice);
    op.name += fmt::format("[{}:{}]", features.begin, features.end);
    if (is_dense(op.kind)) {
      op.attributes.out_begin = features.begin;
      op.attributes.out_end = features.end;
      // The output stays whole, so every slice but the first finds the others' work in it.
      if (op.kind != OpKind::kDenseBackwardWeights && slice > 0) {
        op.attributes.partial = true;
        op.inputs.push_back(op.outputs[0]);
      }
    }
    result_.add_op(std::move(op));
  }

  void rename(Op& op, std::size_t slice) const {
    for (auto* operands : {&op.inputs, &op.outputs}) {
      for (TensorId& id : *operands) {
        const std::vector<TensorId>& ids = new_ids_[static_cast<std::size_t>(id)];
        id = ids.size() == 1 ? ids[0] : ids[slice];
      }
    }
  }

  const Graph& graph_;
  std::vector<Layer> layers_;
  std::vector<std::vector<TensorId>> new_ids_;  // by TensorId of graph_: one, or one a slice
  Graph result_;
};

}  // namespace

Graph slice_dense(const Graph& logical, Bytes limit) {
  SLUICE_CHECK(limit > 0, "the limit of a dense slice must be positive");
  return Slicer(logical, limit).run();
}

}  // namespace sluice
