// What a backward op's operands say about the forward op that it belongs to: the shape rule of backward ops whose
// results' shapes do not follow from their inputs. It is tried by the forward op's own rule (validate.cpp).
#pragma once

#include <optional>
#include <utility>

#include "sluice/graph/shapes/shape_rules.hpp"

namespace sluice {

struct ForwardClaim {
  OpKind forward;
  Shapes inputs;                                    // the rule of `forward` gets these
  Shapes outputs;                                   // and must make these of them
  std::vector<std::pair<Shape, Shape>> equal = {};  // what the rule says nothing about, with what it should equal
};

// Of a backward op, whole (not a slice), without workspaces and operands named again; nothing when it has another
// number of operands. Kinds that have a rule of their own claim to be what they are.
std::optional<ForwardClaim> forward_claim(const Op& op, const Shapes& inputs, const Shapes& outputs);

}  // namespace sluice
