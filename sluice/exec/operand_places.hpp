// Where a program's ops find their operands, as ranges of whole pages that can be watched.
//
// A tensor stays in a place until a transfer brings it somewhere else, or back from elsewhere. Two ops that use it
// during one stay touch the same pages. Between two stays the bytes were copied, so no processor can still have the
// pages in its TLB. A page that a tensor fills only in part may be shared with other tensors: there the page itself is
// what stays.
#pragma once

#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/program/program.hpp"

namespace sluice::exec {

// Whole pages that hold operands of an op.
struct WatchedPlace {
  std::size_t operand = 0;  // the pages begin `before` bytes ahead of this operand of the op
  Bytes before = 0;
  Bytes bytes = 0;
  std::size_t stay = 0;  // the same number for the same pages during the same stay
  int sharers = 0;       // operands of the op that lie in it
};

struct OperandPlace {
  graph::TensorId tensor = 0;
  bool read = false;
  bool written = false;
  std::vector<std::size_t> watched;  // the op's WatchedPlaces that it lies in
};

struct OpPlaces {
  std::vector<WatchedPlace> watched;   // do not overlap
  std::vector<OperandPlace> operands;  // distinct ones that have bytes, inputs first
};

struct OperandPlaces {
  std::vector<OpPlaces> ops;  // by OpIndex
  std::size_t stays = 0;
};

OperandPlaces find_operand_places(const graph::Graph& graph, const program::Program& program);

}  // namespace sluice::exec
