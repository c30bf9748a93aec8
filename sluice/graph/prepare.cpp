#include "sluice/graph/prepare.hpp"

#include "sluice/graph/slice_batch.hpp"
#include "sluice/graph/slice_dense.hpp"

namespace sluice {

Graph prepare_training_graph(const Graph& forward, const OptimizerOptions& optimizer, Precision precision) {
  static_cast<void>(precision);
  const Graph training = slice_dense(build_training_graph(forward, optimizer));
  return slice_batch(training, batch_slice_limit(training));
}

}  // namespace sluice
