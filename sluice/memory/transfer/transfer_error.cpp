#include "sluice/memory/transfer/transfer_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace sluice::memory {

Error transfer_error(std::string_view verb, std::string_view tier, Bytes offset, Bytes bytes, int system_error) {
  const bool full = system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
  return Error{
      full ? ErrorCode::kOutOfSpace : ErrorCode::kIo,
      fmt::format("cannot {} {} at offset {} of tier '{}': {}", verb, format_bytes(bytes), offset, tier,
                  system_error == 0 ? "it ended early (was the file cut short?)" : std::strerror(system_error))};
}

}  // namespace sluice::memory
