// Work that several threads share, given by whoever has threads to whoever has work.
#pragma once

#include <cstdint>
#include <functional>

namespace sluice {

// Calls body(0) ... body(count - 1) on several threads, and returns when all calls have.
using RunTogether = std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;

}  // namespace sluice
