// Moves beside ops (equation 7), for an answer that says where tensors are.
//
// The relaxation splits moves over many ops; rounded, most of them stand alone, where compute waits. Here each move in
// turn is put beside the op where it costs least of all that have room for it meanwhile, or back to where compute waits,
// until no move gains by that. Which tensors are fast, and which stay, remains as it is.
//
// Cost: passes x moves x kBesideOps^2; milliseconds for thousands of moves.
#pragma once

#include "sluice/planners/autotm/formulation.hpp"

namespace sluice::planners {

// The answer with moves beside other ops; it satisfies the program where `placed` does, and costs no more.
PlacedStep hide_moves(const Formulation& program, const PlacementProblem& problem, PlacedStep placed);

}  // namespace sluice::planners
