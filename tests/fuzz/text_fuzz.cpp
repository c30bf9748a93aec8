#include <cmath>

#include "sluice/base/parse.hpp"
#include "sluice/base/text/utf8.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/presets.hpp"
#include "tests/fuzz/fuzz_targets.hpp"

namespace sluice::tests {

void fuzz_text(std::string_view input) {
  if (const Result<double> number = parse_number(input); number.ok()) {
    SLUICE_CHECK(std::isfinite(*number), "whoever reads a number reckons with it");
  }
  if (const Result<std::int64_t> number = parse_integer(input, -5, 5000); number.ok()) {
    SLUICE_CHECK(*number >= -5 && *number <= 5000, "within what was asked");
  }
  if (const Result<Bytes> bytes = parse_bytes(input); bytes.ok()) SLUICE_CHECK(*bytes >= 0, "bytes");
  if (const Result<MemorySize> size = parse_memory_size(input); size.ok()) {
    SLUICE_CHECK(size->resolve(Bytes{1} << 40) >= 0, "bytes");
  }
  if (const Result<BytesPerSecond> speed = parse_bandwidth(input); speed.ok()) {
    SLUICE_CHECK(std::isfinite(*speed) && *speed >= 0, "a bandwidth");
  }
  static_cast<void>(memory::parse_slow_tier(input));
  SLUICE_CHECK(is_utf8(as_utf8(input)), "made so");
}

}  // namespace sluice::tests
