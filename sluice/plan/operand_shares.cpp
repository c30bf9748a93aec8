#include "sluice/plan/operand_shares.hpp"

namespace sluice::plan {
namespace {

struct ByteCount {
  Bytes all = 0;
  Bytes fast = 0;

  void add(Bytes bytes, memory::TierId tier) {
    all += bytes;
    fast += tier == memory::kFastTier ? bytes : 0;
  }
  double share() const { return all > 0 ? static_cast<double>(fast) / static_cast<double>(all) : 1; }
};

}  // namespace

OperandShares operand_shares(const graph::Graph& graph, const Plan& plan) {
  ByteCount inputs, outputs;
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    const graph::Op& op = graph.op(index);
    const std::vector<memory::TierId>& tiers = plan.ops[index].operand_tiers;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) inputs.add(graph.tensor(op.inputs[i]).bytes, tiers[i]);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      outputs.add(graph.tensor(op.outputs[i]).bytes, tiers[op.inputs.size() + i]);
    }
  }
  return {inputs.share(), outputs.share()};
}

}  // namespace sluice::plan
