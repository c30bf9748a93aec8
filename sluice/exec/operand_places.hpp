// Where a program's ops find their operands, as stays: a tensor stays in a place until a transfer brings it somewhere
// else, or back from elsewhere. Two ops that use a tensor during one stay touch the same bytes; between stays the bytes
// were copied, so that no processor could still have them in its TLB.
#pragma once

#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/plan/program.hpp"

namespace sluice {

struct OperandPlace {
  TensorId tensor = 0;
  std::size_t operand = 0;  // first position among the op's operands, inputs then outputs
  std::size_t stay = 0;     // the same number for the same stay
};

struct OperandPlaces {
  std::vector<std::vector<OperandPlace>> ops;  // by OpIndex: distinct operands that have bytes, inputs first
  std::size_t stays = 0;
};

OperandPlaces find_operand_places(const Graph& graph, const Program& program);

}  // namespace sluice
