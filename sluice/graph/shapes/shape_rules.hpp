// Shape rules: what a forward op's outputs look like, given its inputs. The table of operands is in op.hpp.
//
// Backward ops have no rule of their own: a stride makes the input's height ambiguous given the output's, so autodiff
// takes a gradient's shape from the tensor it belongs to, and validate.hpp checks backward ops against the forward
// rule here. A sliced dense op or embedding is checked there too, because one slice does not know how wide the whole
// is. The backward parts of a batch norm have rules: they keep the shape of x.
#pragma once

#include <span>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/op.hpp"

namespace sluice {

// All output shapes, in the table's order, of a forward op (kInput, kSliceBatch and kPlaceBatch excepted) or of an
// update. Errors (kBadInput) name the op, what it expects and what it got.
Result<std::vector<Shape>> infer_shapes(OpKind kind, const Attributes& attributes, std::span<const Shape> inputs);

}  // namespace sluice
