#include "sluice/memory/on_host.hpp"

#include <fmt/format.h>

namespace sluice::memory {

Status check_on_host(const Machine& machine, std::string_view what) {
  if (machine.tier(kFastTier).kind->host_reaches) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("{} needs memory that the host can reach, and a GPU's is none: leave out --gpu", what)};
}

}  // namespace sluice::memory
