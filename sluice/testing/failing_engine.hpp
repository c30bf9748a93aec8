// A transfer engine that fails once: everything goes on to a real engine but one transfer, which is reported as failed
// without being started.
#pragma once

#include "sluice/exec/executor.hpp"

namespace sluice::testing {

// For Executor::create(). Transfers are counted from 0 over all links and steps, in the order they are submitted.
EngineFactory fail_transfer(int number, Error error);

}  // namespace sluice::testing
