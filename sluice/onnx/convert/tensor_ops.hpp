// Ops on tensors that converters put together what they stand for from. All check sizes, and leave a failed builder be:
// the walk reports it.
#pragma once

#include "sluice/graph/ops/sparse_matrix.hpp"
#include "sluice/onnx/convert/conversion.hpp"

namespace sluice::onnx {

// PyTorch refuses to normalise it in training, and so is refused where nodes train as they state.
inline constexpr const char* kOneValue =
    "normalises batches of one value per channel (\"Expected more than 1 value per channel when training\"): leave out "
    "a last batch that is too small";

inline constexpr std::int64_t kMostMatrixTerms = std::int64_t{1} << 22;

// a op b, broadcast against each other.
Result<graph::TensorId> combine(Node& node, graph::BinaryFunction function, graph::TensorId a, graph::TensorId b);
// All of several, from the first to the last.
Result<graph::TensorId> combine_all(Node& node, graph::BinaryFunction function,
                                    const std::vector<graph::TensorId>& parts);

// a where the condition is not 0, else b; all broadcast against each other.
Result<graph::TensorId> select(Node& node, graph::TensorId condition, graph::TensorId a, graph::TensorId b);

graph::TensorId apply(Node& node, graph::UnaryFunction function, graph::TensorId x, float alpha = 0, float beta = 0);
// factor x + shift; x itself where that is it.
graph::TensorId affine(Node& node, graph::TensorId x, float factor, float shift);
// Towards zero.
Result<graph::TensorId> truncate(Node& node, graph::TensorId x);

// The root of sums of squares (of powers of p): where they are 0 it has a gradient of 0, not of 0 times infinity.
Result<graph::TensorId> root_of(Node& node, graph::TensorId sums, std::int64_t p = 2);

graph::TensorId reshape_to(Node& node, graph::TensorId x, const graph::Shape& shape);
graph::TensorId transpose_to(Node& node, graph::TensorId x, const std::vector<std::int64_t>& axes);
// x[..., position, ...] -> with `axis` moved to the end, and back.
graph::TensorId move_axis(Node& node, graph::TensorId x, std::int64_t from, std::int64_t to);
// x with extents of 1 grown to `shape`; dimensions are added in front.
Result<graph::TensorId> grow(Node& node, graph::TensorId x, const graph::Shape& shape);

// Sums, means, maxima over axes, which stay as extents of 1.
graph::TensorId reduce_over(Node& node, graph::ReduceFunction function, graph::TensorId x,
                            const std::vector<std::int64_t>& axes);

// x - log(sum(exp x)) along an axis, by differences from the largest, so that nothing overflows or vanishes.
Result<graph::TensorId> log_softmax_along(Node& node, graph::TensorId x, std::int64_t axis);

// Whether a matrix of so many rows and terms in each may be made. Errors: more than kMostMatrixTerms in all.
Status check_terms(Node& node, std::int64_t rows, std::int64_t terms);
// `matrix` x along `axis`. Errors: more terms than kMostMatrixTerms.
Result<graph::TensorId> multiply_along(Node& node, graph::TensorId x, std::int64_t axis, graph::SparseMatrix matrix);
// Runs of neighbours among places, as [begin, end).
std::vector<std::pair<std::int64_t, std::int64_t>> runs_of(const std::vector<std::int64_t>& places);
inline constexpr std::size_t kMostRuns = 64;  // of slices that are joined, rather than a product with a matrix
// The elements at `places` of `axis`; at -1 zeros. x itself where they are all; slices where they are few runs.
Result<graph::TensorId> take_along(Node& node, graph::TensorId x, std::int64_t axis,
                                   const std::vector<std::int64_t>& places);

inline constexpr std::int64_t kMostRanked = 2048;  // its square is about the number of terms of a matrix

// Row i adds up the elements up to i, or from i on; `exclusive`: without i itself.
graph::SparseMatrix running(std::int64_t extent, bool exclusive, bool reverse);
// 1 at the first of the largest elements along `axis` (the last where `backwards`), 0 elsewhere. `taken`, where there is
// one, is 1 at elements that are not to be marked. Errors: more than kMostRanked elements.
Result<graph::TensorId> mark_largest(Node& node, graph::TensorId x, std::int64_t axis, bool backwards,
                                     graph::TensorId taken = -1);

// A constant of the file or of the op's own, which is not trained.
Result<graph::TensorId> constant(Node& node, HostArray values, const std::string& suffix);
// `first`, first + 1, ... as such a constant; [extent].
Result<graph::TensorId> numbers_from(Node& node, std::int64_t first, std::int64_t extent);
// [..., depth] of numbers [...]: 1 where a number is one of 0 .. depth - 1, else 0. Those below 0 count from the end.
Result<graph::TensorId> one_hot_of_numbers(Node& node, graph::TensorId numbers, std::int64_t depth);

}  // namespace sluice::onnx
