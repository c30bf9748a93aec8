#include "sluice/graph/rewrite/slice_loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/graph/footprint.hpp"
#include "sluice/graph/rewrite/slice_loss_chain.hpp"

namespace sluice::graph {
namespace {

using Rows = Interval<std::int64_t>;

std::vector<Rows> vocabulary_parts(std::int64_t rows, Bytes bytes, Bytes limit) {
  const std::int64_t slices = std::min<std::int64_t>(rows, (bytes + limit - 1) / limit);
  const std::int64_t length = (rows + slices - 1) / slices;
  std::vector<Rows> cuts;
  for (std::int64_t begin = 0; begin < rows; begin += length) cuts.push_back({begin, std::min(rows, begin + length)});
  return cuts;
}

class LossSlicer {
 public:
  LossSlicer(const Graph& graph, Bytes limit) : graph_(graph), limit_(limit), new_ids_(graph.tensors().size(), -1) {
    const LossChainFinder finder(graph);
    replaced_.resize(graph.ops().size(), false);
    for (OpIndex index = 0; index < graph.op_count(); ++index) {
      const Op& op = graph.op(index);
      if (op.kind != OpKind::kSoftmaxCrossEntropy || graph.tensor(op.inputs[0]).bytes <= limit) continue;
      const std::optional<LossChain> chain = finder.find(index);
      if (!chain) continue;
      for (const OpIndex part : chain->ops) replaced_[as_index(part)] = true;
      chains_.emplace(chain->middle(), *chain);
    }
    finder.add_needless(replaced_);
  }

  bool needed() const { return !chains_.empty(); }

  Graph run() && {
    result_.name = graph_.name;
    result_.layers = graph_.layers;
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      if (const auto found = chains_.find(index); found != chains_.end()) emit_chain(found->second);
      if (!replaced_[as_index(index)]) emit_whole(graph_.op(index));
    }
    return std::move(result_);
  }

 private:
  // What one slice's ops share.
  struct SlicedRows {
    Rows rows;
    Phase phase;
    bool first;
    TensorId x;   // of result_: all rows
    TensorId dx;  // of result_: all rows; -1 when nobody wants it
  };

  static std::string suffix(const Rows& rows) { return fmt::format("[{}:{}]", rows.begin, rows.end); }
  const Op& op(OpIndex index) const { return graph_.op(index); }

  TensorId renamed(TensorId id) {
    TensorId& made = new_ids_[as_index(id)];
    if (made < 0) made = result_.add_tensor(graph_.tensor(id));
    return made;
  }

  std::vector<TensorId> renamed(std::vector<TensorId> ids) {
    for (TensorId& id : ids) id = renamed(id);
    return ids;
  }

  void emit_whole(Op op) {
    op.inputs = renamed(std::move(op.inputs));
    op.outputs = renamed(std::move(op.outputs));
    result_.add_op(std::move(op));
  }

  TensorId add_slice(Tensor whole, const Rows& rows, Shape shape) {
    cut_rows(whole, rows);
    return add_in_shape(std::move(whole), std::move(shape));
  }

  TensorId add_in_shape(Tensor tensor, Shape shape) {
    tensor.shape = std::move(shape);
    tensor.bytes = 0;
    return result_.add_tensor(std::move(tensor));
  }

  // The same op for some rows; operands are those of result_.
  void emit_slice(OpIndex original, const SlicedRows& slice, const Slice& share, std::vector<TensorId> inputs,
                  std::vector<TensorId> outputs) {
    Op part = op(original);
    part.name += suffix(slice.rows);
    part.phase = slice.phase;
    part.slice = share;
    part.inputs = std::move(inputs);
    part.outputs = std::move(outputs);
    result_.add_op(std::move(part));
  }

  // An op that stands beside `neighbour`, named after what it makes or changes.
  void emit_beside(OpIndex neighbour, Phase phase, OpKind kind, const std::string& name, const Attributes& attributes,
                   const Slice& share, std::vector<TensorId> inputs, TensorId output) {
    result_.add_op({.name = name,
                    .kind = kind,
                    .attributes = attributes,
                    .slice = share,
                    .inputs = std::move(inputs),
                    .outputs = {output},
                    .layer = op(neighbour).layer,
                    .phase = phase});
  }

  void emit_view(OpIndex neighbour, Phase phase, TensorId from, TensorId to) {
    const Tensor& view = result_.tensor(to);
    emit_beside(neighbour, phase, OpKind::kReshape, view.name + ".view", ShapeAttributes{view.shape}, {}, {from}, to);
  }

  // `id`, of graph_, as a matrix of its rows: itself, or one that the caller makes a view from or of.
  TensorId as_rows(TensorId id, const Shape& rows) {
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.shape == rows) return renamed(id);
    Tensor view = tensor;
    view.part = part_beside(tensor, ".rows");
    view.name += ".rows";
    return add_in_shape(std::move(view), rows);
  }

  void emit_chain(const LossChain& chain) {
    const Op& dense = op(chain.dense);
    const Tensor& logits = graph_.tensor(dense.outputs[0]);
    const std::int64_t rows = element_count(logits.shape) / logits.shape.back();
    const TensorId x = renamed(dense.inputs[0]);
    const Shape matrix = {rows, element_count(result_.tensor(x).shape) / rows};
    const Phase phase = chain.backward ? Phase::kBackward : dense.phase;
    const TensorId x_rows = as_rows(dense.inputs[0], matrix);
    if (x_rows != x) emit_view(chain.dense, phase, x, x_rows);
    TensorId dx = -1;
    TensorId dx_rows = -1;
    for (const OpIndex product : chain.products) {
      if (op(product).kind != OpKind::kDenseBackwardData) continue;
      dx_rows = as_rows(op(product).outputs[0], matrix);
      dx = renamed(op(product).outputs[0]);
    }
    for (const Rows& part : vocabulary_parts(rows, logits.bytes, limit_)) {
      emit_rows(chain, {.rows = part, .phase = phase, .first = part.begin == 0, .x = x_rows, .dx = dx_rows});
    }
    if (dx != dx_rows) emit_view(chain.dense, phase, dx_rows, dx);
  }

  void emit_rows(const LossChain& chain, const SlicedRows& slice) {
    const Op& dense = op(chain.dense);
    const Op& loss = op(chain.loss);
    const std::string suffix = this->suffix(slice.rows);
    const Slice part{.begin = slice.rows.begin, .end = slice.rows.end};
    const Shape shape = {slice.rows.length(), graph_.tensor(dense.outputs[0]).shape.back()};

    const Tensor& whole = result_.tensor(slice.x);
    const std::string name = whole.name + ".slice" + suffix;
    const TensorId x = add_slice(whole, slice.rows, {slice.rows.length(), whole.shape[1]});
    emit_beside(chain.dense, slice.phase, OpKind::kSliceBatch, name, {}, part, {slice.x}, x);

    std::vector<TensorId> dense_inputs = renamed(dense.inputs);
    dense_inputs[0] = x;
    const TensorId logits = add_slice(graph_.tensor(dense.outputs[0]), slice.rows, shape);
    emit_slice(chain.dense, slice, dense.slice, std::move(dense_inputs), {logits});

    const TensorId probabilities = add_slice(graph_.tensor(loss.outputs[1]), slice.rows, shape);
    const TensorId labels = renamed(loss.inputs[1]);
    const TensorId sum = renamed(loss.outputs[0]);
    Slice loss_part = part;
    loss_part.accumulate = !slice.first;
    std::vector<TensorId> loss_inputs = {logits, labels};
    if (!slice.first) loss_inputs.push_back(sum);
    emit_slice(chain.loss, slice, loss_part, std::move(loss_inputs), {sum, probabilities});

    if (!chain.backward) return;
    const TensorId dlogits = add_slice(graph_.tensor(op(*chain.backward).outputs[0]), slice.rows, shape);
    emit_slice(*chain.backward, slice, part, {probabilities, labels}, {dlogits});
    for (const OpIndex product : chain.products) emit_product(product, slice, x, dlogits);
  }

  void emit_product(OpIndex index, const SlicedRows& slice, TensorId x, TensorId dlogits) {
    const Op& product = op(index);
    if (product.kind == OpKind::kDenseBackwardData) {
      const Tensor& whole = result_.tensor(slice.dx);
      const std::string name = whole.name + ".place" + suffix(slice.rows);
      const TensorId dx = add_slice(whole, slice.rows, result_.tensor(x).shape);
      emit_slice(index, slice, product.slice, {dlogits, renamed(product.inputs[1])}, {dx});
      std::vector<TensorId> placed = {dx};
      if (!slice.first) placed.push_back(slice.dx);
      const Slice part{.begin = slice.rows.begin, .end = slice.rows.end, .partial = !slice.first};
      emit_beside(index, slice.phase, OpKind::kPlaceBatch, name, {}, part, std::move(placed), slice.dx);
      return;
    }
    Slice share = product.slice;
    share.accumulate = share.accumulate || !slice.first;
    const std::vector<TensorId> gradients = renamed(product.outputs);
    std::vector<TensorId> inputs = {x, dlogits};
    if (share.accumulate) inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    emit_slice(index, slice, share, std::move(inputs), gradients);
  }

  const Graph& graph_;
  const Bytes limit_;
  std::map<OpIndex, LossChain> chains_;  // by their middle
  std::vector<bool> replaced_;           // by OpIndex of graph_
  std::vector<TensorId> new_ids_;        // by TensorId of graph_; -1 before it is made
  Graph result_;
};

}  // namespace

Graph slice_loss(const Graph& logical, Bytes limit) {
  SLUICE_CHECK(limit > 0, "the limit of a slice of logits must be positive");
  LossSlicer slicer(logical, limit);
  return slicer.needed() ? std::move(slicer).run() : logical;
}

Bytes loss_slice_limit(const Graph& training) {
  constexpr Bytes kShare = 16;
  return std::max(4 * kMiB, measure_footprint(training).peak / kShare);
}

}  // namespace sluice::graph
