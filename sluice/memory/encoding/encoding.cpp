#include "sluice/memory/encoding/encoding.hpp"

namespace sluice::memory {

std::string_view to_string(Encoding encoding) {
  switch (encoding) {
    case Encoding::kNone:
      return "none";
    case Encoding::kZeroValue:
      return "zero-value";
    case Encoding::kNarrow:
      return "narrow";
  }
  return "?";
}

std::optional<Encoding> parse_encoding(std::string_view name) {
  for (const Encoding encoding : {Encoding::kNone, Encoding::kZeroValue, Encoding::kNarrow}) {
    if (name == to_string(encoding)) return encoding;
  }
  return std::nullopt;
}

}  // namespace sluice::memory
