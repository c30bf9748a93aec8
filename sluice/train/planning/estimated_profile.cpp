#include "sluice/train/planning/estimated_profile.hpp"

#include "sluice/base/as_index.hpp"

namespace sluice::train {
namespace {

constexpr BytesPerSecond kAssumedBandwidth = 4e9;  // of an op, over its operands

}  // namespace

profile::Profile estimated_profile(const graph::Graph& graph, const memory::Machine& machine) {
  profile::Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.provenance = memory::Provenance::kGiven;
  for (const graph::Op& op : graph.ops()) {
    Bytes bytes = 0;
    for (const graph::TensorId id : op.inputs) bytes += graph.tensor(id).bytes;
    for (const graph::TensorId id : op.outputs) bytes += graph.tensor(id).bytes;
    profile.op_seconds.push_back(static_cast<double>(bytes) / kAssumedBandwidth);
  }
  for (ProcessorId id = 1; id < as_id<ProcessorId>(machine.processor_count()); ++id) {
    profile.choices[{0, id}] = std::make_shared<const profile::OpTimes>(profile::OpTimes{profile.op_seconds, {}});
  }
  return profile;
}

}  // namespace sluice::train
