// Which ops of a network of images work on every sample by itself.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// The batch of the step: the first extent of its first input.
std::int64_t batch_of(const Graph& graph);

// Whether the tensor holds samples: image tensors [batch, C, H, W] do; parameters and their gradients do not.
bool has_samples(const Tensor& tensor, std::int64_t batch);

// Whether doing the op for some samples, then for the others, gives the same result, apart from the order in which the
// gradients of weights and the statistics of norms are summed. Weights must be parameters: a computed weight may look
// like a batch. For kBatchNorm and kBatchNormBackward it says whether their parts are separable (split_batch_norm.hpp).
bool separable(const Graph& graph, const Op& op);

}  // namespace sluice::graph
