// A policy's moves on memory whose slowness is emulated: data stay in fast memory, and what a policy does to a step is
// added to it.
//   - What an op waits for is really copied, as page frames between two arenas (policy_copies.hpp), and takes as long as
//     the emulated links and faults would (wait_seconds()).
//   - Behind each op the delay for bytes found in slow memory is injected (slow_seconds(), delay_injector.hpp).
//   - What the policy's own threads moved during an op is copied by threads of ours behind that op, beside the ops that
//     follow. There are at most as many of these threads as cores. The step ends when they are done.
// So the fast tier holds everything: RSS is fast-only's. The room that the policy has is only what it believes in.
#pragma once

#include "sluice/exec/policy/move_driver.hpp"

namespace sluice::exec {

// `copy_threads`: the policy's. Errors: kOutOfSpace.
Result<std::unique_ptr<MoveDriver>> emulate_moves(const memory::Machine& machine, int copy_threads);

}  // namespace sluice::exec
