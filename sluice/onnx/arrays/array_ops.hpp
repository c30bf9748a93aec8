// Arithmetic and selection on small arrays (host_array.hpp), with the rules of ONNX: broadcasting, negative indices.
//
// Errors (kBadInput) are for shapes that do not fit and results of more than kMostArrayElements. Pure functions.
#pragma once

#include <set>

#include "sluice/onnx/arrays/host_array.hpp"

namespace sluice::onnx {

// Rounded towards zero; what does not fit in 64 bits becomes the nearest that does.
std::int64_t integer_of(double value);

Result<graph::Shape> broadcast_shape(const graph::Shape& a, const graph::Shape& b);
// `shape` may have extents of 1 where x has more, as in ONNX's Expand.
Result<HostArray> broadcast_to(const HostArray& x, const graph::Shape& shape);

Result<HostArray> gathered(const HostArray& x, const HostArray& indices, std::int64_t axis);
Result<HostArray> joined(const std::vector<const HostArray*>& parts, std::int64_t axis);
Result<HostArray> sliced(const HostArray& x, std::int64_t axis, std::int64_t start, std::int64_t end,
                         std::int64_t step);

// a where the condition is not 0, else b.
Result<HostArray> chosen_by(const HostArray& condition, const HostArray& a, const HostArray& b);

// Ones on a diagonal of a matrix, zeros elsewhere.
Result<HostArray> unit_matrix(const graph::Shape& shape, std::int64_t diagonal);

// Zeros below (upper) or above (lower) a diagonal of the last two dimensions.
Result<HostArray> triangle(const HostArray& x, bool upper, std::int64_t diagonal);

// "ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin" over axes; over all where none are given, unless `none_is_none`.
Result<HostArray> reduced(const std::string& op, const HostArray& x, const std::vector<std::int64_t>& axes,
                          bool none_is_none, bool keep);

// Ops of one or two arrays, element by element: "Add", "Sqrt", "Equal", ... Comparisons give integers 0 and 1.
inline const std::string kRemainderOp = "Mod with fmod";  // what a division leaves, with the dividend's sign
const std::vector<std::string>& elementwise_ops();
Result<HostArray> computed_elementwise(const std::string& op, const std::vector<const HostArray*>& inputs);

}  // namespace sluice::onnx
