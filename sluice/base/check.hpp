// Checks of our own invariants: on in every build, throwing std::logic_error with the place and the message.
#pragma once

#include <stdexcept>
#include <string>

namespace sluice {

[[noreturn]] inline void fail_check(const char* file, int line, const char* condition, const std::string& message) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": check failed: " + condition +
                         (message.empty() ? "" : ": " + message));
}

}  // namespace sluice

#define SLUICE_CHECK(condition, message) \
  (static_cast<bool>(condition) ? void(0) : ::sluice::fail_check(__FILE__, __LINE__, #condition, (message)))
