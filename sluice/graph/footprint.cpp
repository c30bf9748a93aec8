#include "sluice/graph/footprint.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/in_place.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::graph {
namespace {

// Everything names the tensor that a view shows.
void merge_views(Graph& graph) {
  std::vector<TensorId> storage(graph.tensors().size());
  std::iota(storage.begin(), storage.end(), TensorId{0});
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    Op& op = graph.op(index);
    for (TensorId& id : op.inputs) id = storage[as_index(id)];
    if (op.kind != OpKind::kReshape) continue;
    storage[as_index(op.outputs[0])] = op.inputs[0];
    op.outputs.clear();
  }
}

Bytes peak_of(const Graph& graph) {
  const Liveness liveness = analyze_liveness(graph);
  std::vector<Bytes> bytes;
  for (const Tensor& tensor : graph.tensors()) bytes.push_back(tensor.bytes);
  const std::vector<Bytes> live = live_bytes(liveness, bytes);
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

}  // namespace

Footprint measure_footprint(Graph logical) {
  set_in_place_candidates(logical);
  merge_views(logical);
  merge_in_place(logical);
  Footprint footprint;
  for (const Op& op : logical.ops()) {
    Bytes& bytes = footprint.operands.emplace_back(0);
    for (const TensorId id : distinct_operands(op)) bytes += logical.tensor(id).bytes;
  }
  footprint.peak = peak_of(logical);
  return footprint;
}

}  // namespace sluice::graph
