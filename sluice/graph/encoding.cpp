#include "sluice/graph/encoding.hpp"

namespace sluice::graph {

std::string_view elements_allowed(memory::Encoding encoding) {
  return encoding == memory::Encoding::kZeroValue ? "f32, bf16 and f16"
         : encoding == memory::Encoding::kNarrow  ? "i32 and u8"
                                                  : "all";
}

}  // namespace sluice::graph
