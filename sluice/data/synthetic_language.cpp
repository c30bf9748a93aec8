#include "sluice/data/synthetic_language.hpp"

#include <algorithm>
#include <bit>

#include "sluice/base/random.hpp"

namespace sluice::data {
namespace {

constexpr std::uint64_t kChain = stream_of("synthetic language: draws");
constexpr std::uint64_t kSuccessors = stream_of("synthetic language: successors");

// Cubed, so that an eighth of the vocabulary makes up half of the text.
std::int32_t common_or_rare(std::uint64_t bits, std::int64_t vocabulary) {
  const float u = static_cast<float>(bits >> 40) * 0x1p-24F;
  const auto token = static_cast<std::int64_t>(u * u * u * static_cast<float>(vocabulary));
  return static_cast<std::int32_t>(std::min(token, vocabulary - 1));
}

}  // namespace

Status SyntheticLanguage::read(std::int64_t sample, std::span<std::int32_t> tokens) const {
  const std::uint64_t stream = mix64(kChain + static_cast<std::uint64_t>(sample));
  std::int32_t last = -1;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::uint64_t bits = random_bits(seed_, stream, i);
    const bool anything = last < 0 || (bits & 7U) == 0;
    if (anything) {
      last = common_or_rare(bits, vocabulary_);
    } else {  // 0 with probability 1/2, 1 with 1/4, 2 and 3 with 1/8
      const auto choice = static_cast<std::uint64_t>(std::min(3, std::countr_zero((bits >> 3) | 8U)));
      last =
          common_or_rare(random_bits(seed_, kSuccessors, static_cast<std::uint64_t>(last) * 4 + choice), vocabulary_);
    }
    tokens[i] = last;
  }
  return {};
}

}  // namespace sluice::data
