#include "sluice/graph/fast_memory_bound.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {

FastMemoryBound measure_bound(const Graph& graph, const Liveness& liveness) {
  FastMemoryBound bound;
  std::vector<Bytes> short_lived_bytes;
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Bytes bytes = graph.tensor(id).bytes;
    const bool short_lived = liveness.short_lived[as_index(id)];
    short_lived_bytes.push_back(short_lived ? bytes : 0);
    const bool used = !liveness.uses[as_index(id)].empty();
    if (short_lived || !used || bytes <= bound.largest_long_lived_bytes) continue;
    bound.largest_long_lived = id;
    bound.largest_long_lived_bytes = bytes;
  }
  const std::vector<Bytes> live = live_bytes(liveness, short_lived_bytes);
  const auto peak = std::ranges::max_element(live);
  if (peak == live.end()) return bound;
  bound.short_lived_peak = *peak;
  bound.short_lived_peak_op = as_id<OpIndex>(peak - live.begin());
  return bound;
}

}  // namespace sluice::graph
