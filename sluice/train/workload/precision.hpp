// Whether the CPU can compute in bf16, and the names of precisions on the command line.
#pragma once

#include <string_view>

#include "sluice/base/result.hpp"
#include "sluice/graph/rewrite/prepare.hpp"

namespace sluice::train {

std::string_view to_string(graph::Precision precision);           // "fp32", "bf16"
Result<graph::Precision> parse_precision(std::string_view text);  // kBadInput for anything else

// AVX512_BF16 or AMX. Elsewhere bf16 would be emulated, slower than fp32.
bool cpu_computes_bf16();

}  // namespace sluice::train
