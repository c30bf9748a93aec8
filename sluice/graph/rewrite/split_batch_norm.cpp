#include "sluice/graph/rewrite/split_batch_norm.hpp"

#include <utility>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {
namespace {

class Splitter {
 public:
  explicit Splitter(const Graph& graph) {
    result_.graph.name = graph.name;
    result_.graph.layers = graph.layers;
    for (const Tensor& tensor : graph.tensors()) result_.graph.add_tensor(tensor);
  }

  void keep(const Op& op, bool sliced) { add(op, sliced); }

  void split_forward(const Op& norm) {
    const TensorId x = norm.inputs[0];
    const TensorId scale_shift = norm.inputs[1];
    const TensorId running = norm.inputs[2];
    const TensorId stats = norm.outputs[1];
    Tensor tensor = result_.graph.tensor(stats);
    tensor.part = part_beside(tensor, ".part");
    tensor.name += ".part";
    const TensorId part = result_.graph.add_tensor(std::move(tensor));
    const NormAttributes merging{.channel_elements = channel_elements(x),
                                 .momentum = norm.as<NormAttributes>().momentum};
    add_part(norm, ".statistics", OpKind::kBatchNormStatistics, {}, {x}, {part});
    add_part(norm, ".merge", OpKind::kBatchNormMerge, merging, {part, running}, {stats, norm.outputs[2]});
    std::vector<TensorId> inputs{x, scale_shift, stats};
    inputs.insert(inputs.end(), norm.inputs.begin() + 3, norm.inputs.end());
    add_part(norm, "", OpKind::kBatchNormApply, norm.attributes, std::move(inputs), {norm.outputs[0]});
  }

  void split_backward(const Op& norm) {
    const TensorId dscale_shift = norm.outputs[1];
    auto applying = norm.as<NormAttributes>();
    applying.channel_elements = channel_elements(norm.inputs[0]);
    std::vector<TensorId> inputs = norm.inputs;
    add_part(norm, ".sums", OpKind::kBatchNormBackwardSums, norm.attributes, inputs, {dscale_shift});
    inputs.push_back(dscale_shift);
    add_part(norm, "", OpKind::kBatchNormBackwardApply, applying, std::move(inputs), {norm.outputs[0]});
  }

  SplitGraph finish() && { return std::move(result_); }

 private:
  std::int64_t channel_elements(TensorId x) const {
    const Shape& shape = result_.graph.tensor(x).shape;
    return element_count(shape) / shape[1];
  }

  void add(Op op, bool sliced) {
    result_.graph.add_op(std::move(op));
    result_.sliced.push_back(sliced);
  }

  void add_part(const Op& norm, const std::string& suffix, OpKind kind, const Attributes& attributes,
                std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    add({.name = norm.name + suffix,
         .kind = kind,
         .attributes = attributes,
         .inputs = std::move(inputs),
         .outputs = std::move(outputs),
         .layer = norm.layer,
         .phase = norm.phase},
        kind != OpKind::kBatchNormMerge);
  }

  SplitGraph result_;
};

}  // namespace

SplitGraph split_batch_norms(const Graph& logical, const std::vector<bool>& sliced) {
  Splitter splitter(logical);
  for (OpIndex index = 0; index < logical.op_count(); ++index) {
    const Op& op = logical.op(index);
    const bool is_sliced = sliced.at(as_index(index));
    if (is_sliced && op.kind == OpKind::kBatchNorm) {
      splitter.split_forward(op);
    } else if (is_sliced && op.kind == OpKind::kBatchNormBackward) {
      splitter.split_backward(op);
    } else {
      splitter.keep(op, is_sliced);
    }
  }
  return std::move(splitter).finish();
}

}  // namespace sluice::graph
