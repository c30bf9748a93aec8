// Folds small ops of a forward graph into their neighbours, so that fewer tensors are made, kept and moved.
//
//   activations   conv, relu                 -> conv with activation           also transposed; add; batch norm
//                 batch norm, add, [relu]    -> batch norm with residual
//                 relus, concat              -> concat with activation: what is concatenated can die at once, for
//                                               the gradient's mask is in the concat's output (SqueezeNet's fires)
//                 relu, max pool             -> max pool with activation: the largest of what is not negative is the
//                                               same, and the gradient's mask is in the smaller of the two
//   views         transpose, transpose       -> transpose;  reshape, reshape -> reshape
//                 transpose that moves only extents of 1                     -> reshape
//                 reshape to the same shape                                  -> nothing
//   products      transpose, matmul          -> matmul with perm_a or perm_b
//                 matmul, transpose          -> matmul with perm_y
//                 factor, matmul; matmul, factor; factor, softmax            -> matmul or softmax with alpha
//
// A tensor that only the folded op read disappears, and with it its name; all others keep theirs. Factors round
// differently after folding; the rest computes the same bits. Ops whose results nobody reads are removed, and so are
// the parameters that only they used.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

Graph fold(const Graph& forward);

}  // namespace sluice::graph
