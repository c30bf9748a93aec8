#include "sluice/graph/rewrite/prepare.hpp"

#include <algorithm>
#include <vector>

#include "sluice/graph/footprint.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/graph/rewrite/accumulate_gradients.hpp"
#include "sluice/graph/rewrite/batch_slices.hpp"
#include "sluice/graph/rewrite/clip_gradients.hpp"
#include "sluice/graph/rewrite/delay_updates.hpp"
#include "sluice/graph/rewrite/evaluation.hpp"
#include "sluice/graph/rewrite/fold.hpp"
#include "sluice/graph/rewrite/half_parameters.hpp"
#include "sluice/graph/rewrite/mixed_precision.hpp"
#include "sluice/graph/rewrite/partition_updates.hpp"
#include "sluice/graph/rewrite/scale_loss.hpp"
#include "sluice/graph/rewrite/slice_batch.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"
#include "sluice/graph/rewrite/slice_loss.hpp"

namespace sluice::graph {
namespace {

// What training and evaluation share: both must slice weights at the same features.
struct Step {
  Graph folded;    // forward ops
  Graph training;  // with backward and update ops, losses sliced by rows and weights by features
  Bytes loss_limit = 0;
  Bytes dense_limit = 0;
};

Step training_step(const Graph& forward, const OptimizerOptions& optimizer, int finer) {
  Step step{.folded = fold(forward), .training = {}};
  const Graph whole = build_training_graph(step.folded, optimizer);
  step.loss_limit = loss_slice_limit(whole) / finer;
  if (optimizer.rematerialize == Rematerialize::kChains) step.loss_limit = step.loss_limit * 2 / 3;
  step.dense_limit = dense_slice_limit(step.folded) / finer;
  step.training = slice_dense(slice_loss(whole, step.loss_limit), step.dense_limit);
  return step;
}

Bytes largest_op(const Graph& graph) {
  const std::vector<Bytes> operands = measure_footprint(graph).operands;
  return *std::max_element(operands.begin(), operands.end());
}

Graph in_precision(const Graph& sliced, Precision precision) {
  if (precision == Precision::kF32) return sliced;
  return to_mixed_precision(sliced, precision == Precision::kF16Masters ? DType::kF16 : DType::kBF16);
}

}  // namespace

Graph prepare_training_graph(const Graph& forward, const OptimizerOptions& optimizer, Precision precision, int finer) {
  const Step step = training_step(forward, optimizer, finer);
  Graph graph = in_precision(slice_batch(step.training, batch_slice_limit(step.training, finer)), precision);
  const bool scaled = precision == Precision::kF16Masters;
  if (precision == Precision::kBF16Masters || scaled) graph = keep_half_parameters(graph);
  if (optimizer.ranks > 1 && updates_may_run_last(graph)) graph = partition_updates(graph, optimizer.ranks);
  if (optimizer.accumulate > 1 && updates_may_run_last(graph)) {
    graph = accumulate_gradients(graph, optimizer.accumulate);
  }
  if (optimizer.delayed && updates_may_run_last(graph)) graph = delay_updates(graph);
  if (optimizer.clip_norm > 0 || scaled) graph = clip_gradients(graph, optimizer.clip_norm);
  return scaled && updates_may_run_last(graph) ? scale_loss(graph, optimizer.loss_scale) : std::move(graph);
}

// What trains in a budget is evaluated in it: losses (but for Rematerialize::kChains) and weights are sliced alike, and no
// op needs more than the largest of training.
Graph prepare_evaluation_graph(const Graph& forward, Precision precision, int finer) {
  const Step step = training_step(forward, {}, finer);
  const Graph whole = build_evaluation_graph(step.folded);
  const Graph evaluation = slice_dense(slice_loss(whole, step.loss_limit), step.dense_limit);
  const Graph training = slice_batch(step.training, batch_slice_limit(step.training, finer));
  return in_precision(slice_batch(evaluation, largest_op(training)), precision);
}

}  // namespace sluice::graph
