#include "sluice/train/estimated_profile.hpp"

namespace sluice {
namespace {

constexpr BytesPerSecond kAssumedBandwidth = 4e9;  // of an op, over its operands

}  // namespace

Profile estimated_profile(const Graph& graph, const Machine& machine) {
  Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.provenance = Provenance::kGiven;
  for (const Op& op : graph.ops()) {
    Bytes bytes = 0;
    for (const TensorId id : op.inputs) bytes += graph.tensor(id).bytes;
    for (const TensorId id : op.outputs) bytes += graph.tensor(id).bytes;
    profile.op_seconds.push_back(static_cast<double>(bytes) / kAssumedBandwidth);
  }
  for (ProcessorId id = 1; id < static_cast<ProcessorId>(machine.processor_count()); ++id) {
    profile.choices[{0, id}] = std::make_shared<const OpTimes>(OpTimes{profile.op_seconds, {}});
  }
  return profile;
}

}  // namespace sluice
