// What a backward op's operands say about the forward op that it belongs to: the shape rule of backward ops whose
// results' shapes do not follow from their inputs. The forward op's own rule checks the claim (validate.cpp).
#pragma once

#include <optional>
#include <utility>

#include "sluice/graph/shapes/shape_rules.hpp"

namespace sluice::graph {

struct ForwardClaim {
  OpKind forward;
  Shapes inputs;                                    // the rule of `forward` gets these
  Shapes outputs;                                   // and must make these of them
  std::vector<std::pair<Shape, Shape>> equal = {};  // what the rule says nothing about, with what it should equal
};

// The claim of a whole backward op (not a slice), given without workspaces and without operands that are named again;
// nothing when the number of operands is wrong. An op whose kind has a shape rule of its own claims to be that kind.
std::optional<ForwardClaim> forward_claim(const Op& op, const Shapes& inputs, const Shapes& outputs);

// The claims that the table of kinds (op_table.hpp) names.
#define SLUICE_CLAIM(...) \
  std::optional<ForwardClaim> SLUICE_OP_CLAIM(__VA_ARGS__)(const Op& op, const Shapes& in, const Shapes& out);
SLUICE_OPS(SLUICE_CLAIM)
#undef SLUICE_CLAIM

}  // namespace sluice::graph
