#include "sluice/graph/prepare.hpp"

#include "sluice/graph/evaluation.hpp"
#include "sluice/graph/fold.hpp"
#include "sluice/graph/mixed_precision.hpp"
#include "sluice/graph/slice_batch.hpp"
#include "sluice/graph/slice_dense.hpp"

namespace sluice {
namespace {

Graph slice(const Graph& logical, Bytes dense_limit, Precision precision) {
  const Graph by_features = slice_dense(logical, dense_limit);
  Graph sliced = slice_batch(by_features, batch_slice_limit(by_features));
  return precision == Precision::kBF16 ? to_mixed_precision(sliced) : sliced;
}

}  // namespace

Graph prepare_training_graph(const Graph& forward, const OptimizerOptions& optimizer, Precision precision) {
  const Graph folded = fold(forward);
  return slice(build_training_graph(folded, optimizer), dense_slice_limit(folded), precision);
}

Graph prepare_evaluation_graph(const Graph& forward, Precision precision) {
  const Graph folded = fold(forward);
  return slice(build_evaluation_graph(folded), dense_slice_limit(folded), precision);
}

}  // namespace sluice
