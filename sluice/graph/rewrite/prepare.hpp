// From a model's forward graph to the logical graph that is compiled: every rewrite of graphs, in its one right order.
//
//   sink activations below concats, fold transposes into matrix products     (fold.hpp)
//   append backward and update ops                                           (autodiff.hpp)
//   slice losses by rows, dense layers by features, other ops by samples     (slice_loss.hpp, slice_dense.hpp,
//                                                                             slice_batch.hpp)
//   turn activations into 16 bits, if asked                                     (mixed_precision.hpp)
//   and parameters and their gradients, beside fp32 masters                  (half_parameters.hpp)
//   give each rank parts to update, if there are several                     (partition_updates.hpp)
//   take several batches a step, if asked                                    (accumulate_gradients.hpp)
//   delay updates by a step, if asked and possible                           (delay_updates.hpp)
//   clip gradients by their norm, if asked                                   (clip_gradients.hpp)
//   scale losses, where gradients are in fp16                                (scale_loss.hpp)
#pragma once

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

enum class Precision {
  kF32,
  kBF16,         // activations; parameters are fp32 and rounded when they are read
  kBF16Masters,  // activations, parameters and their gradients; the optimizer updates fp32 masters
  kF16Masters,   // the same in fp16, with losses scaled
};

// How fine ops are sliced whose operands decide the smallest budget: the usual limits are divided by it. Finer slices
// train in less memory and read weights more often; sums over slices round otherwise, so the graph is another one.
inline constexpr int kFinestSlices = 64;

Graph prepare_training_graph(const Graph& forward, const OptimizerOptions& optimizer,
                             Precision precision = Precision::kF32, int finer = 1);

// For evaluation: the forward ops as they run on a trained model. Batch norms use their running statistics, dropout
// is gone, parameters have the same names and slices as in the training graph. See evaluation.hpp.
Graph prepare_evaluation_graph(const Graph& forward, Precision precision = Precision::kF32, int finer = 1);

}  // namespace sluice::graph
