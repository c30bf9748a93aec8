// Turns a logical graph from fp32 into bf16, or fp16, with fp32 master weights: activations and their gradients take half the
// bytes, and products of bf16 run on its units. What must not round stays fp32: parameters, optimizer state, gradients of
// parameters, statistics of norms, cell states of LSTMs, logits, probabilities and losses.
//
// A tensor's dtype is decided by the op that makes it, by the letters of its kind (op_traits.hpp: precision); integers
// (ids, labels, max-pooling indices) stay as they are. Kernels get exactly these combinations, or all fp32. An
// embedding's weights stay fp32: rows are rounded as they are read.
//
// Sums are in fp32 inside every kernel; rounding is to nearest even. Where an op wants another dtype than a tensor has,
// a kCast comes before it. Activations and step data get one cast for all their uses. A weight gets one for its forward
// uses and one for its backward uses, so that the copies are short-lived; where these take turns (slice_loss.hpp), it
// gets one each time.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// Runs last, on a graph whose ops are sliced already (logical, all fp32): training or forward. Names stay; casts are
// "<tensor>.bf16" (or ".f16") and "<tensor>.f32".
Graph to_mixed_precision(const Graph& logical, DType half = DType::kBF16);

}  // namespace sluice::graph
