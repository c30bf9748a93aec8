// A transfer engine that fails once. It passes every transfer on to a real engine except one; that one it reports as
// failed without starting it.
#pragma once

#include "sluice/exec/executor.hpp"

namespace sluice::testing {

// For Executor::create(). Transfers are counted from 0 over all links and steps, in the order they are submitted.
EngineFactory fail_transfer(int number, Error error);

}  // namespace sluice::testing
