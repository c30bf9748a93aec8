#include "sluice/graph/encoding.hpp"

namespace sluice {

std::string_view elements_allowed(Encoding encoding) {
  return encoding == Encoding::kZeroValue ? "f32, bf16 and f16" : encoding == Encoding::kNarrow ? "i32 and u8" : "all";
}

}  // namespace sluice
