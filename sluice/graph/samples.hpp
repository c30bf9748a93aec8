// Which ops of a network of images work on every sample by itself.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice {

// Of the step: the first extent of its first input.
std::int64_t batch_of(const Graph& graph);

// Image tensors [batch, C, H, W], and no parameters or gradients of them.
bool has_samples(const Tensor& tensor, std::int64_t batch);

// Whether doing the op for some samples, then for the others, gives the same result, but for the order in which the
// gradients of weights and the statistics of norms are summed. Weights must be parameters: a computed weight may look
// like a batch. Of kBatchNorm and kBatchNormBackward it says that their parts are separable (split_batch_norm.hpp).
bool separable(const Graph& graph, const Op& op);

}  // namespace sluice
