#include "sluice/graph/prepare.hpp"

#include "sluice/graph/evaluation.hpp"
#include "sluice/graph/fold.hpp"
#include "sluice/graph/mixed_precision.hpp"
#include "sluice/graph/slice_batch.hpp"
#include "sluice/graph/slice_dense.hpp"

namespace sluice {
namespace {

Graph slice(const Graph& logical, Precision precision) {
  const Graph by_features = slice_dense(logical);
  Graph sliced = slice_batch(by_features, batch_slice_limit(by_features));
  return precision == Precision::kBF16 ? to_mixed_precision(sliced) : sliced;
}

}  // namespace

Graph prepare_training_graph(const Graph& forward, const OptimizerOptions& optimizer, Precision precision) {
  return slice(build_training_graph(fold(forward), optimizer), precision);
}

Graph prepare_evaluation_graph(const Graph& forward, Precision precision) {
  return slice(build_evaluation_graph(fold(forward)), precision);
}

}  // namespace sluice
