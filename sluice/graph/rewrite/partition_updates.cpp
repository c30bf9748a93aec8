#include "sluice/graph/rewrite/partition_updates.hpp"

#include <algorithm>
#include <utility>

#include "sluice/base/check.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/reschedule.hpp"

namespace sluice::graph {
namespace {

class Partition {
 public:
  Partition(const Graph& training, int ranks) : ranks_(ranks) {
    result_.name = training.name;
    result_.layers = training.layers;
    for (const Tensor& tensor : training.tensors()) result_.add_tensor(tensor);
    for (const Op& op : training.ops()) is_update(op.kind) ? add_update(op) : static_cast<void>(result_.add_op(op));
  }

  Graph result() && { return std::move(result_); }

 private:
  Shape part_shape(TensorId whole) const { return {part_elements(element_count(result_.tensor(whole).shape), ranks_)}; }

  // What only the update uses becomes its part.
  void divide(TensorId id) {
    Tensor& tensor = result_.tensor(id);
    if (!tensor.whole.empty()) return;
    tensor.whole = std::exchange(tensor.shape, part_shape(id));
    tensor.bytes = element_count(tensor.shape) * size_of(tensor.dtype);
  }

  TensorId add_part(TensorId whole) {
    const Tensor& tensor = result_.tensor(whole);
    Tensor part;
    name_beside(part, whole_name(tensor) + ".part", tensor);
    part.shape = part_shape(whole);
    part.dtype = tensor.dtype;
    part.role = Role::kGradient;
    part.whole = tensor.shape;
    return result_.add_tensor(std::move(part));
  }

  void add_op(const Op& beside, OpKind kind, Phase phase, TensorId input, TensorId output,
              RanksAttributes attributes = {}) {
    attributes.ranks = ranks_;
    result_.add_op(
        {.name = result_.tensor(kind == OpKind::kAllGather ? input : output).name + "." + std::string(to_string(kind)),
         .kind = kind,
         .attributes = std::move(attributes),
         .inputs = {input},
         .outputs = {output},
         .layer = beside.layer,
         .phase = phase});
  }

  TensorId scattered(const Op& update) {
    const TensorId part = add_part(update.inputs[1]);
    add_op(update, OpKind::kReduceScatter, Phase::kBackward, update.inputs[1], part,
           {.factor = 1.0F / static_cast<float>(ranks_)});
    return part;
  }

  void add_update(Op op) {
    const bool master = has_master(op);
    const TensorId parameter = master ? op.outputs.back() : op.inputs[0];
    op.inputs[1] = scattered(op);
    for (std::size_t i = master ? 0 : 2; i < op.inputs.size(); ++i) {
      if (i != 1) divide(op.inputs[i]);
    }
    const TensorId part = add_part(parameter);
    if (master) {
      op.outputs.back() = part;
    } else {
      add_op(op, OpKind::kOwnPart, Phase::kUpdate, parameter, part);
      op.inputs[0] = op.outputs[0] = part;
    }
    RanksAttributes whole{.shape = result_.tensor(parameter).shape};
    const Op update = op;
    result_.add_op(std::move(op));
    add_op(update, OpKind::kAllGather, Phase::kUpdate, part, parameter, std::move(whole));
  }

  int ranks_;
  Graph result_;
};

}  // namespace

Graph partition_updates(const Graph& training, int ranks) {
  SLUICE_CHECK(ranks > 1, "one rank has every part");
  SLUICE_CHECK(updates_may_run_last(training), training.name + " reads parameters again that its step has updated");
  return Partition(training, ranks).result();
}

std::int64_t ranks_of(const Graph& training) {
  const auto scatter = std::ranges::find(training.ops(), OpKind::kReduceScatter, &Op::kind);
  return scatter == training.ops().end() ? 1 : scatter->as<RanksAttributes>().ranks;
}

}  // namespace sluice::graph
