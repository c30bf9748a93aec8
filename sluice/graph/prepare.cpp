#include "sluice/graph/prepare.hpp"

#include "sluice/graph/evaluation.hpp"
#include "sluice/graph/fold.hpp"
#include "sluice/graph/mixed_precision.hpp"
#include "sluice/graph/slice_batch.hpp"
#include "sluice/graph/slice_dense.hpp"

namespace sluice {
namespace {

Graph sliced(const Graph& by_features, Bytes batch_limit, Precision precision) {
  Graph result = slice_batch(by_features, batch_limit);
  return precision == Precision::kBF16 ? to_mixed_precision(result) : result;
}

}  // namespace

Graph prepare_training_graph(const Graph& forward, const OptimizerOptions& optimizer, Precision precision) {
  const Graph folded = fold(forward);
  const Graph training = slice_dense(build_training_graph(folded, optimizer), dense_slice_limit(folded));
  return sliced(training, batch_slice_limit(training), precision);
}

// By the limits of training: what fits there fits here.
Graph prepare_evaluation_graph(const Graph& forward, Precision precision) {
  const Graph folded = fold(forward);
  const Graph evaluation = slice_dense(build_evaluation_graph(folded), dense_slice_limit(folded));
  return sliced(evaluation, batch_slice_limit(build_training_graph(folded, {})), precision);
}

}  // namespace sluice
