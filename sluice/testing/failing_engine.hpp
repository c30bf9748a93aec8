// Engines that fail on purpose.
#pragma once

#include <cstdint>
#include <functional>

#include "sluice/exec/executor.hpp"

namespace sluice::testing {

// For Executor::create(). It passes every transfer on to a real engine except one; that one it reports as failed without
// starting it. Transfers are counted from 0 over all links and steps, in the order they are submitted.
exec::EngineFactory fail_transfer(int number, Error error);

// What the kernel said of a request (bytes or -errno) between a file and memory, and whether it writes: `alter` returns what
// the engine is told. Requests are counted from 0 over all links of files and all steps. Called on several threads.
using AlterRequest = std::function<std::int32_t(int request, bool writes, std::int32_t result)>;
exec::EngineFactory alter_file_requests(AlterRequest alter);

}  // namespace sluice::testing
