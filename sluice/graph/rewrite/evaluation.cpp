#include "sluice/graph/rewrite/evaluation.hpp"

#include <utility>

#include "sluice/graph/rewrite/rewrite.hpp"

namespace sluice::graph {
namespace {

void use_running_statistics(GraphRewrite& graph, OpIndex index) {
  Op op = graph.op(index);
  op.kind = OpKind::kBatchNormApply;
  op.as<NormAttributes>().momentum = 0;
  op.outputs.resize(1);
  graph.replace(index, std::move(op));
}

void remove_dropout(GraphRewrite& graph, OpIndex index) {
  const Op& op = graph.op(index);
  graph.read_instead(op.outputs[0], op.inputs[0]);
  graph.remove(index);
}

}  // namespace

Graph build_evaluation_graph(const Graph& forward) {
  GraphRewrite graph(forward);
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    if (!graph.living(index)) continue;
    const Op& op = graph.op(index);
    const bool loss = op.kind == OpKind::kSoftmaxCrossEntropy;
    if (loss && graph.tensor(op.inputs[1]).content == Content::kLabels)
      graph.tensor(op.outputs[1]).role = Role::kOutput;
    if (op.kind == OpKind::kBatchNorm) use_running_statistics(graph, index);
    if (op.kind == OpKind::kDropout) remove_dropout(graph, index);
  }
  Graph result = std::move(graph).finish();
  result.stages.clear();
  return result;
}

}  // namespace sluice::graph
