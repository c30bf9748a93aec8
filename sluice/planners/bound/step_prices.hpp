// Good prices for the certificate of a step (plan/verify/certificate.hpp): the duals of a linear program.
//
// The program moves parts of tensors as a fluid. For each gap between two uses of a tensor it says how many bytes are
// gone meanwhile; for each slot what the link carries in and out, and how long the step stalls. Bytes that come before
// they are needed, and bytes that leave and are not written yet, take room. It is solved by Clp (planners/ilp).
//
//   minimise   seconds of stalls + compute seconds lost to copies beside it
//   such that  by op:    what stays + what is early + what waits to be written + the op's operands <= budget
//              by slot:  both facets of the link (plan/prices.hpp)
//              by gap:   what went has come back; what changed since it was last written was written
//
// Where ops can use slow memory in place, each stretch of uses by ops in a row also says how many bytes are used there:
// these take no room and need not come, and an op is longer by what they add, and by what its reading is longer than it.
//
// Its optimum need not be the certificate: that one is worked out from the prices by other code, and holds whatever
// these are. Tensors below 16 KiB stay in fast memory here.
#pragma once

#include "sluice/plan/verify/certificate.hpp"

namespace sluice::planners {

// Prices of zero where the program has no answer: the budget is below what an op needs, or the time (wall clock) is up.
plan::StepPrices find_prices(const plan::BoundedStep& step, Seconds time_limit);

}  // namespace sluice::planners
