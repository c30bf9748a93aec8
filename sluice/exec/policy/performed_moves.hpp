// A policy's moves, made: pages of the step's own data go to a file or another memory node and come back
// (memory/movers/range_mover.hpp). Fast memory holds what the policy keeps there and no more.
//
//   - An op waits for the moves that the policy wants before it, and for what is under way on the pages that it uses.
//   - Moves that the policy makes in the background are made by a thread, beside the ops that follow, steps too.
// Nothing is emulated and nothing is added: an op takes as long as it takes on the pages where it finds them.
#pragma once

#include "sluice/exec/policy/move_driver.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"

namespace sluice::exec {

// `storages` outlive it; the fast tier's is the whole address space.
std::unique_ptr<MoveDriver> perform_moves_for_real(const memory::Machine& machine, const memory::TierStorages& storages,
                                                   Bytes page_bytes);

}  // namespace sluice::exec
