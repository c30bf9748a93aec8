#include "sluice/graph/slice_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sluice/base/interval.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice {
namespace {

using Samples = Interval<std::int64_t>;

bool treats_samples_alone(OpKind kind) {
  switch (kind) {
    case OpKind::kConv2d:
    case OpKind::kConv2dBackwardData:
    case OpKind::kConv2dBackwardWeights:
    case OpKind::kRelu:
    case OpKind::kReluBackward:
    case OpKind::kMaxPool:
    case OpKind::kMaxPoolBackward:
    case OpKind::kAvgPool:
    case OpKind::kAvgPoolBackward:
      return true;
    default:
      return false;
  }
}

bool runs_in_place(OpKind kind) { return kind == OpKind::kRelu || kind == OpKind::kReluBackward; }

Bytes operand_bytes(const Graph& graph, const Op& op) {
  Bytes bytes = 0;
  for (const TensorId id : distinct_operands(op)) bytes += graph.tensor(id).bytes;
  return runs_in_place(op.kind) ? bytes - graph.tensor(op.outputs[0]).bytes : bytes;
}

bool has_samples(const Tensor& tensor) {
  return tensor.role != Role::kParameter && tensor.role != Role::kGradient && tensor.role != Role::kOptimizerState;
}

class BatchSlicer {
 public:
  BatchSlicer(const Graph& graph, Bytes limit);
  bool needed() const { return !cuts_.empty(); }
  Graph run() &&;

 private:
  void copy_tensors();
  void emit_run(Interval<OpIndex> run);
  void emit_slice(const Op& op, std::size_t slice);
  void emit_whole(const Op& op);
  TensorId part(TensorId id, std::size_t slice);
  TensorId input_part(TensorId id, std::size_t slice, const Op& reader);
  void place(TensorId id, std::size_t slice, const Op& writer);
  void accumulate(TensorId gradient, std::size_t slice, const Op& writer);
  std::string suffix(std::size_t slice) const { return fmt::format("[{}:{}]", cuts_[slice].begin, cuts_[slice].end); }
  bool is_sliced(OpIndex index) const { return sliced_[static_cast<std::size_t>(index)]; }

  const Graph& graph_;
  std::vector<bool> sliced_;  // by OpIndex of graph_
  std::vector<Samples> cuts_;
  std::vector<bool> made_sliced_;  // by TensorId: written by a sliced op
  std::vector<bool> read_whole_;   // by TensorId: read by an op that is not sliced
  std::vector<TensorId> whole_;    // by TensorId of graph_: in result_, -1 when only parts exist
  std::map<std::pair<TensorId, std::size_t>, TensorId> parts_;
  std::map<TensorId, TensorId> sums_;  // by gradient: the sum of the slices so far
  Graph result_;
};

BatchSlicer::BatchSlicer(const Graph& graph, Bytes limit)
    : graph_(graph), made_sliced_(graph.tensors().size(), false), read_whole_(graph.tensors().size(), false) {
  Bytes largest = 0;
  for (const Op& op : graph.ops()) {
    const Bytes bytes = operand_bytes(graph, op);
    sliced_.push_back(treats_samples_alone(op.kind) && bytes > limit);
    if (sliced_.back()) largest = std::max(largest, bytes);
    for (const TensorId id : sliced_.back() ? op.outputs : op.inputs) {
      (sliced_.back() ? made_sliced_ : read_whole_)[static_cast<std::size_t>(id)] = true;
    }
  }
  if (largest == 0) return;
  const std::int64_t batch = graph.tensor(graph.op(0).outputs[0]).shape[0];
  std::int64_t slices = std::min<std::int64_t>(batch, (largest + limit - 1) / limit);
  while (batch % slices != 0) ++slices;
  if (slices == 1) return;
  for (std::int64_t i = 0; i < slices; ++i) cuts_.push_back({batch / slices * i, batch / slices * (i + 1)});
}

void BatchSlicer::copy_tensors() {
  for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
    const bool parts_only = made_sliced_[static_cast<std::size_t>(id)] && has_samples(graph_.tensor(id)) &&
                            !read_whole_[static_cast<std::size_t>(id)];
    whole_.push_back(parts_only ? -1 : result_.add_tensor(graph_.tensor(id)));
  }
}

// The slice's tensor; made on first mention.
TensorId BatchSlicer::part(TensorId id, std::size_t slice) {
  const auto [entry, fresh] = parts_.try_emplace({id, slice}, -1);
  if (fresh) {
    Tensor tensor = graph_.tensor(id);
    tensor.name += suffix(slice);
    if (has_samples(tensor)) tensor.shape[0] = cuts_[slice].length();
    tensor.bytes = 0;
    entry->second = result_.add_tensor(std::move(tensor));
  }
  return entry->second;
}

TensorId BatchSlicer::input_part(TensorId id, std::size_t slice, const Op& reader) {
  if (!has_samples(graph_.tensor(id))) return whole_[static_cast<std::size_t>(id)];
  if (parts_.contains({id, slice})) return part(id, slice);
  const TensorId taken = part(id, slice);
  result_.add_op({.name = graph_.tensor(id).name + ".slice" + suffix(slice),
                  .kind = OpKind::kSliceBatch,
                  .attributes = {.out_begin = cuts_[slice].begin, .out_end = cuts_[slice].end},
                  .inputs = {whole_[static_cast<std::size_t>(id)]},
                  .outputs = {taken},
                  .layer = reader.layer,
                  .phase = reader.phase});
  return taken;
}

void BatchSlicer::place(TensorId id, std::size_t slice, const Op& writer) {
  const TensorId whole = whole_[static_cast<std::size_t>(id)];
  Op op{.name = graph_.tensor(id).name + ".place" + suffix(slice),
        .kind = OpKind::kPlaceBatch,
        .attributes = {.out_begin = cuts_[slice].begin, .out_end = cuts_[slice].end, .partial = slice > 0},
        .inputs = {part(id, slice)},
        .outputs = {whole},
        .layer = writer.layer,
        .phase = writer.phase};
  if (slice > 0) op.inputs.push_back(whole);
  result_.add_op(std::move(op));
}

// gradient = slice 0 + slice 1 + ..., in that order.
void BatchSlicer::accumulate(TensorId gradient, std::size_t slice, const Op& writer) {
  TensorId& sum = sums_.try_emplace(gradient, part(gradient, 0)).first->second;
  if (slice == 0) return;
  TensorId total = whole_[static_cast<std::size_t>(gradient)];
  if (slice + 1 < cuts_.size()) {
    Tensor tensor = graph_.tensor(gradient);
    tensor.name += fmt::format("[0:{}]", cuts_[slice].end);
    total = result_.add_tensor(std::move(tensor));
  }
  result_.add_op({.name = graph_.tensor(gradient).name + ".add" + suffix(slice),
                  .kind = OpKind::kAdd,
                  .inputs = {sum, part(gradient, slice)},
                  .outputs = {total},
                  .layer = writer.layer,
                  .phase = writer.phase});
  sum = total;
}

void BatchSlicer::emit_slice(const Op& original, std::size_t slice) {
  Op op = original;
  op.name += suffix(slice);
  for (TensorId& id : op.inputs) id = input_part(id, slice, original);
  for (TensorId& id : op.outputs) id = part(id, slice);
  result_.add_op(std::move(op));
  for (const TensorId id : original.outputs) {
    if (!has_samples(graph_.tensor(id))) {
      accumulate(id, slice, original);
    } else if (whole_[static_cast<std::size_t>(id)] >= 0) {
      place(id, slice, original);
    }
  }
}

void BatchSlicer::emit_whole(const Op& original) {
  Op op = original;
  for (auto* operands : {&op.inputs, &op.outputs}) {
    for (TensorId& id : *operands) id = whole_[static_cast<std::size_t>(id)];
  }
  result_.add_op(std::move(op));
}

// All ops of the run for one slice, then for the next. Updates among them come last.
void BatchSlicer::emit_run(Interval<OpIndex> run) {
  for (std::size_t slice = 0; slice < cuts_.size(); ++slice) {
    for (OpIndex index = run.begin; index < run.end; ++index) {
      if (is_sliced(index)) emit_slice(graph_.op(index), slice);
    }
  }
  for (OpIndex index = run.begin; index < run.end; ++index) {
    if (!is_sliced(index)) emit_whole(graph_.op(index));
  }
}

Graph BatchSlicer::run() && {
  result_.name = graph_.name;
  result_.layers = graph_.layers;
  copy_tensors();
  OpIndex index = 0;
  while (index < graph_.op_count()) {
    if (!is_sliced(index)) {
      emit_whole(graph_.op(index++));
      continue;
    }
    Interval<OpIndex> run{index, index};
    while (index < graph_.op_count() && (is_sliced(index) || graph_.op(index).phase == Phase::kUpdate)) ++index;
    run.end = index;
    emit_run(run);
  }
  return std::move(result_);
}

}  // namespace

Graph slice_batch(const Graph& logical, Bytes limit) {
  SLUICE_CHECK(limit > 0, "the limit of a batch slice must be positive");
  BatchSlicer slicer(logical, limit);
  return slicer.needed() ? std::move(slicer).run() : logical;
}

Bytes batch_slice_limit(const Graph& logical) {
  Bytes made = 0;
  for (const Tensor& tensor : logical.tensors()) made += tensor.role == Role::kActivation ? tensor.bytes : 0;
  return std::max(32 * kMiB, made / 16);
}

}  // namespace sluice
