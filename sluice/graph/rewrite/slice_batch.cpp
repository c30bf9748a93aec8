#include "sluice/graph/rewrite/slice_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/rewrite/batch_slices.hpp"
#include "sluice/graph/rewrite/split_batch_norm.hpp"
#include "sluice/graph/samples.hpp"

namespace sluice::graph {
namespace {

using Samples = Interval<std::int64_t>;

class BatchSlicer {
 public:
  BatchSlicer(const SplitGraph& split, const std::vector<Samples>& cuts);
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
  bool is_sliced(OpIndex index) const { return sliced_[as_index(index)]; }
  bool carries_samples(TensorId id) const { return has_samples(graph_.tensor(id), batch_); }
  bool is_gathered(const Op& op, TensorId id) const;
  Interval<OpIndex> find_run(OpIndex begin) const;

  const Graph& graph_;
  const std::vector<Samples>& cuts_;
  const std::int64_t batch_;
  const std::vector<bool>& sliced_;       // by OpIndex of graph_
  std::vector<bool> made_sliced_;         // by TensorId: written by a sliced op
  std::vector<OpIndex> last_whole_read_;  // by TensorId: by an op that is not sliced; -1 when there is none
  std::vector<TensorId> whole_;           // by TensorId of graph_: in result_, -1 when only parts exist
  std::map<std::pair<TensorId, std::size_t>, TensorId> parts_;
  std::map<TensorId, TensorId> sums_;  // by gradient: the sum of the slices so far
  Graph result_;
};

BatchSlicer::BatchSlicer(const SplitGraph& split, const std::vector<Samples>& cuts)
    : graph_(split.graph),
      cuts_(cuts),
      batch_(batch_of(split.graph)),
      sliced_(split.sliced),
      made_sliced_(split.graph.tensors().size(), false),
      last_whole_read_(split.graph.tensors().size(), -1) {
  for (OpIndex index = 0; index < graph_.op_count(); ++index) {
    const Op& op = graph_.op(index);
    if (is_sliced(index)) {
      for (const TensorId id : op.outputs) made_sliced_[as_index(id)] = true;
    }
    for (const TensorId id : op.inputs) {
      if (!is_sliced(index) && !is_gathered(op, id)) last_whole_read_[as_index(id)] = index;
    }
  }
}

// The statistics that a norm's merge takes, one from each slice. They are neither added nor placed.
bool BatchSlicer::is_gathered(const Op& op, TensorId id) const {
  return op.kind == OpKind::kBatchNormMerge && id == op.inputs[0] && made_sliced_[as_index(id)];
}

void BatchSlicer::copy_tensors() {
  for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
    const bool summed = graph_.tensor(id).role == Role::kGradient;
    const bool parts_only = made_sliced_[as_index(id)] && !summed && last_whole_read_[as_index(id)] < 0;
    whole_.push_back(parts_only ? -1 : result_.add_tensor(graph_.tensor(id)));
  }
}

// The slice's tensor; made on first mention.
TensorId BatchSlicer::part(TensorId id, std::size_t slice) {
  const auto [entry, fresh] = parts_.try_emplace({id, slice}, -1);
  if (fresh) {
    Tensor tensor = graph_.tensor(id);
    cut_rows(tensor, cuts_[slice]);
    if (carries_samples(id)) tensor.shape[0] = cuts_[slice].length();
    tensor.bytes = 0;
    entry->second = result_.add_tensor(std::move(tensor));
  }
  return entry->second;
}

TensorId BatchSlicer::input_part(TensorId id, std::size_t slice, const Op& reader) {
  if (!carries_samples(id)) return whole_[as_index(id)];
  if (parts_.contains({id, slice})) return part(id, slice);
  const TensorId taken = part(id, slice);
  result_.add_op({.name = graph_.tensor(id).name + ".slice" + suffix(slice),
                  .kind = OpKind::kSliceBatch,
                  .slice = {.begin = cuts_[slice].begin, .end = cuts_[slice].end},
                  .inputs = {whole_[as_index(id)]},
                  .outputs = {taken},
                  .layer = reader.layer,
                  .phase = reader.phase});
  return taken;
}

void BatchSlicer::place(TensorId id, std::size_t slice, const Op& writer) {
  const TensorId whole = whole_[as_index(id)];
  Op op{.name = graph_.tensor(id).name + ".place" + suffix(slice),
        .kind = OpKind::kPlaceBatch,
        .slice = {.begin = cuts_[slice].begin, .end = cuts_[slice].end, .partial = slice > 0},
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
  TensorId total = whole_[as_index(gradient)];
  if (slice + 1 < cuts_.size()) {
    Tensor tensor = graph_.tensor(gradient);
    cut_rows(tensor, {0, cuts_[slice].end});
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
  if (op.kind == OpKind::kPad) op.as<PartAttributes>().shape[0] = cuts_[slice].length();
  result_.add_op(std::move(op));
  for (const TensorId id : original.outputs) {
    if (graph_.tensor(id).role == Role::kGradient) {
      accumulate(id, slice, original);
    } else if (whole_[as_index(id)] >= 0) {
      place(id, slice, original);
    }
  }
}

void BatchSlicer::emit_whole(const Op& original) {
  Op op = original;
  op.inputs.clear();
  for (const TensorId id : original.inputs) {
    if (!is_gathered(original, id)) {
      op.inputs.push_back(whole_[as_index(id)]);
    } else {
      for (std::size_t slice = 0; slice < cuts_.size(); ++slice) op.inputs.push_back(part(id, slice));
    }
  }
  for (TensorId& id : op.outputs) id = whole_[as_index(id)];
  result_.add_op(std::move(op));
}

// Consecutive sliced ops, and the updates between them. Sums over the slices are complete at the end of the run, and
// updates wait until then, so it ends before an op that needs a sum (the gradient of a batch norm) or an updated value
// (a later stage of the step).
Interval<OpIndex> BatchSlicer::find_run(OpIndex begin) const {
  std::set<TensorId> late;
  OpIndex end = begin;
  for (; end < graph_.op_count(); ++end) {
    const Op& op = graph_.op(end);
    const auto is_late = [&](TensorId id) { return late.count(id) > 0; };
    if (!is_sliced(end) && op.phase != Phase::kUpdate) break;
    if (is_sliced(end) && std::any_of(op.inputs.begin(), op.inputs.end(), is_late)) break;
    for (const TensorId id : op.outputs) {
      if (!is_sliced(end) || !carries_samples(id)) late.insert(id);
    }
  }
  return {begin, end};
}

// All ops of the run for one slice, then for the next. Updates among them come last.
void BatchSlicer::emit_run(Interval<OpIndex> run) {
  // What stays whole for later anyway is not kept in parts, too.
  std::erase_if(parts_, [&](const auto& part) { return last_whole_read_[as_index(part.first.first)] >= run.begin; });
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
    const Interval<OpIndex> run = find_run(index);
    emit_run(run);
    index = run.end;
  }
  return std::move(result_);
}

}  // namespace

Graph slice_batch(const Graph& logical, Bytes limit) {
  const BatchSlices slices = choose_batch_slices(logical, limit);
  if (slices.samples.empty()) return logical;
  const SplitGraph split = split_batch_norms(logical, slices.ops);
  return BatchSlicer(split, slices.samples).run();
}

}  // namespace sluice::graph
