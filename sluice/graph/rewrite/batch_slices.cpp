#include "sluice/graph/rewrite/batch_slices.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/footprint.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/rewrite/minimum_cut.hpp"
#include "sluice/graph/samples.hpp"

namespace sluice::graph {
namespace {

// Bytes that an op moves more in `slices` slices than whole: weights are read by each slice, gradients of weights are
// written by each and added. The parts of a batch norm read twice what the whole may still find in a cache: it
// counts half.
Bytes cost_of_slices(const Graph& graph, const Op& op, std::size_t slices) {
  Bytes cost = 0;
  for (const TensorId id : distinct_operands(op)) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.role == Role::kGradient) cost += 3 * tensor.bytes;
    if (is_persistent(tensor.role)) cost += tensor.bytes;
  }
  cost *= static_cast<Bytes>(slices - 1);
  const int images = op.kind == OpKind::kBatchNorm ? 1 : op.kind == OpKind::kBatchNormBackward ? 2 : 0;
  return cost + images * graph.tensor(op.inputs[0]).bytes / 2;
}

// Adds the ops for which that saves copies: where sliced and whole ops meet, each part of the tensor between them is
// copied, which moves its bytes twice. A cheapest cut between the ops that are sliced and those that cannot be.
void add_neighbours(const Graph& graph, BatchSlices& slices) {
  const std::int64_t batch = batch_of(graph);
  const int sliced = graph.op_count();
  const int whole = sliced + 1;
  MinimumCut cut(whole + 1);
  std::map<TensorId, std::pair<int, int>> ends;  // of the tensor's own arc, which is cut when its ops differ
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    const Op& op = graph.op(index);
    if (slices.ops[as_index(index)]) {
      cut.add_arc(sliced, index, MinimumCut::kNever);
    } else {
      const bool possible = separable(graph, op);
      cut.add_arc(index, whole, possible ? cost_of_slices(graph, op, slices.samples.size()) : MinimumCut::kNever);
    }
    for (const TensorId id : distinct_operands(op)) {
      if (!has_samples(graph.tensor(id), batch)) continue;
      const auto [tensor, fresh] = ends.try_emplace(id);
      if (fresh) {
        tensor->second = {cut.add_node(), cut.add_node()};
        cut.add_arc(tensor->second.first, tensor->second.second, 2 * graph.tensor(id).bytes);
      }
      cut.add_arc(index, tensor->second.first, MinimumCut::kNever);
      cut.add_arc(tensor->second.second, index, MinimumCut::kNever);
    }
  }
  const std::vector<bool> sides = std::move(cut).source_side(sliced, whole);
  slices.ops.assign(sides.begin(), sides.begin() + graph.op_count());
}

}  // namespace

BatchSlices choose_batch_slices(const Graph& logical, Bytes limit) {
  SLUICE_CHECK(limit > 0, "the limit of a batch slice must be positive");
  const Footprint footprint = measure_footprint(logical);
  BatchSlices slices;
  Bytes largest = 0;
  for (OpIndex index = 0; index < logical.op_count(); ++index) {
    const Bytes bytes = footprint.operands[as_index(index)];
    slices.ops.push_back(bytes > limit && separable(logical, logical.op(index)));
    if (slices.ops.back()) largest = std::max(largest, bytes);
  }
  if (largest == 0) return slices;
  const std::int64_t batch = batch_of(logical);
  std::int64_t count = std::min<std::int64_t>(batch, (largest + limit - 1) / limit);
  while (batch % count != 0) ++count;
  if (count == 1) return slices;
  for (std::int64_t i = 0; i < count; ++i) slices.samples.push_back({batch / count * i, batch / count * (i + 1)});
  add_neighbours(logical, slices);
  return slices;
}

Bytes batch_slice_limit(const Graph& logical, int finer) {
  const Footprint footprint = measure_footprint(logical);
  Bytes limit = std::max(kSmallestSliceLimit, footprint.peak / kLimitsInPeak) / finer;
  for (OpIndex index = 0; index < logical.op_count(); ++index) {
    if (!separable(logical, logical.op(index))) limit = std::max(limit, footprint.operands[as_index(index)]);
  }
  return limit;
}

}  // namespace sluice::graph
