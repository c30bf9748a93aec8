#include "sluice/planners/swapadvisor/op_order.hpp"

#include <algorithm>
#include <queue>

#include "sluice/base/as_index.hpp"
#include "sluice/base/id_vector.hpp"

namespace sluice::planners {
namespace {

constexpr graph::OpIndex kNobody = -1;

}  // namespace

OpOrders::OpOrders(const graph::Graph& graph) : behind_(graph.ops().size()), waits_for_(graph.ops().size(), 0) {
  IdVector<graph::TensorId, graph::OpIndex> writer(graph.tensors().size(), kNobody);
  IdVector<graph::TensorId, std::vector<graph::OpIndex>> readers(graph.tensors().size());  // of what the writer wrote
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    for (const graph::TensorId id : graph.op(op).inputs) {
      add_pair(writer[id], op);
      readers[id].push_back(op);
    }
    for (const graph::TensorId id : graph.op(op).outputs) {
      add_pair(writer[id], op);
      for (const graph::OpIndex reader : readers[id]) add_pair(reader, op);
      writer[id] = op;
      readers[id].clear();
    }
  }
}

void OpOrders::add_pair(graph::OpIndex before, graph::OpIndex after) {
  if (before == kNobody || before == after) return;
  behind_[as_index(before)].push_back(after);
  ++waits_for_[as_index(after)];
}

std::vector<graph::OpIndex> OpOrders::by_priority(std::span<const double> priorities) const {
  using Ready = std::pair<double, graph::OpIndex>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  std::vector<int> waits_for = waits_for_;
  for (std::size_t op = 0; op < waits_for.size(); ++op) {
    if (waits_for[op] == 0) ready.push({priorities[op], as_id<graph::OpIndex>(op)});
  }
  std::vector<graph::OpIndex> order;
  order.reserve(waits_for.size());
  while (!ready.empty()) {
    const graph::OpIndex op = ready.top().second;
    ready.pop();
    order.push_back(op);
    for (const graph::OpIndex next : behind_[as_index(op)]) {
      if (--waits_for[as_index(next)] == 0) ready.push({priorities[as_index(next)], next});
    }
  }
  return order;
}

bool OpOrders::is_valid(std::span<const graph::OpIndex> order) const {
  std::vector<int> waits_for = waits_for_;
  std::vector<bool> ran(waits_for.size(), false);
  for (const graph::OpIndex op : order) {
    if (op < 0 || as_index(op) >= ran.size() || ran[as_index(op)] || waits_for[as_index(op)] > 0) return false;
    ran[as_index(op)] = true;
    for (const graph::OpIndex next : behind_[as_index(op)]) --waits_for[as_index(next)];
  }
  return order.size() == ran.size();
}

}  // namespace sluice::planners
