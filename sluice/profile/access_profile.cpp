#include "sluice/profile/access_profile.hpp"

#include "sluice/base/check.hpp"

namespace sluice::profile {

IdVector<graph::TensorId, TensorAccesses> accesses_by_tensor(const graph::Graph& graph, const AccessProfile& profile) {
  SLUICE_CHECK(profile.graph_fingerprint == graph.fingerprint(), "an access profile of another graph");
  IdVector<graph::TensorId, TensorAccesses> result(graph.tensors().size());
  for (const std::vector<TensorTouches>& operands : profile.ops) {
    for (const TensorTouches& touches : operands) {
      TensorAccesses& sum = result[touches.tensor];
      sum.reads += touches.reads;
      sum.writes += touches.writes;
    }
  }
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    TensorAccesses& sum = result[id];
    const Bytes pages = (graph.tensor(id).bytes + kPageBytes - 1) / kPageBytes;
    if (pages > 0) sum.per_page = static_cast<double>(sum.reads + sum.writes) / static_cast<double>(pages);
  }
  return result;
}

}  // namespace sluice::profile
