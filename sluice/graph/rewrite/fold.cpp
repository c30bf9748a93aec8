#include "sluice/graph/rewrite/fold.hpp"

#include <utility>

#include "sluice/graph/rewrite/fold_rules.hpp"

namespace sluice::graph {
namespace {

using Rule = bool (*)(GraphRewrite&, OpIndex);

void apply(GraphRewrite& graph, std::initializer_list<Rule> rules) {
  for (bool changed = true; changed;) {
    changed = false;
    for (OpIndex index = 0; index < graph.op_count(); ++index) {
      for (const Rule rule : rules) {
        if (!graph.living(index) || !rule(graph, index)) continue;
        changed = true;
        graph.remove_dead();
      }
    }
  }
}

}  // namespace

Graph fold(const Graph& forward) {
  GraphRewrite graph(forward);
  apply(graph, {sink_activations});  // first: an activation that sinks is not folded into what is above it
  apply(graph, {fold_activation});
  apply(graph, {sink_below_max_pool});
  apply(graph, {fold_residual});
  apply(graph, {fold_transposes, fold_still_transpose, fold_reshape});
  apply(graph, {fold_transpose_into_products, fold_transpose_of_product, fold_factor});
  return std::move(graph).finish();
}

}  // namespace sluice::graph
