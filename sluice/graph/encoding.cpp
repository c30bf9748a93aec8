#include "sluice/graph/encoding.hpp"

namespace sluice {

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

std::string_view elements_allowed(Encoding encoding) {
  return encoding == Encoding::kZeroValue ? "f32, bf16 and f16" : encoding == Encoding::kNarrow ? "i32 and u8" : "all";
}

std::optional<Encoding> parse_encoding(std::string_view name) {
  for (const Encoding encoding : {Encoding::kNone, Encoding::kZeroValue, Encoding::kNarrow}) {
    if (name == to_string(encoding)) return encoding;
  }
  return std::nullopt;
}

}  // namespace sluice
