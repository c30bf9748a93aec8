// Shape rules: what a forward op's outputs look like, given its inputs. The table of operands is in op_table.hpp.
//
// A backward op has a rule here if all its operands have the shape of x, or if it is a part of a batch norm. The others
// have none: a stride makes the input's height ambiguous given the output's. So autodiff takes a gradient's shape from
// the tensor it belongs to, and validate.hpp checks these ops against the forward op's rule (forward_claim.hpp). A
// sliced dense op or embedding is checked there too, because one slice does not know how wide the whole is.
#pragma once

#include <span>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/ops/op.hpp"

namespace sluice::graph {

using Shapes = std::vector<Shape>;

// All output shapes, in the table's order, of a forward op (kInput, kSliceBatch and kPlaceBatch excepted), an update or
// such a backward op. No attributes stand for its family's defaults. Errors (kBadInput) name the op, what it expects and what
// it got.
Result<Shapes> infer_shapes(OpKind kind, const Attributes& attributes, std::span<const Shape> inputs,
                            const Slice& slice = {});

}  // namespace sluice::graph
