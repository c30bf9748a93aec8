#include "sluice/planners/schedule/pack.hpp"

#include "sluice/graph/liveness.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice {

Bytes largest_working_set(const Graph& graph, OpIndex* op) {
  Bytes largest = 0;
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    Bytes bytes = 0;
    for (const TensorId id : distinct_operands(graph.op(index)))
      bytes += room_for(graph.tensor(id), kFastTier, false).bytes;
    if (bytes <= largest) continue;
    largest = bytes;
    if (op != nullptr) *op = index;
  }
  return largest;
}

}  // namespace sluice
