#include "sluice/graph/encoding.hpp"

namespace sluice {

std::string_view to_string(Encoding encoding) { return encoding == Encoding::kNone ? "none" : "zero-value"; }

std::optional<Encoding> parse_encoding(std::string_view name) {
  for (const Encoding encoding : {Encoding::kNone, Encoding::kZeroValue}) {
    if (name == to_string(encoding)) return encoding;
  }
  return std::nullopt;
}

}  // namespace sluice
