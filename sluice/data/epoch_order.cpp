#include "sluice/data/epoch_order.hpp"

#include <bit>

#include "sluice/base/check.hpp"
#include "sluice/base/random.hpp"

namespace sluice::data {
namespace {

constexpr int kRounds = 4;

std::uint64_t permute(std::uint64_t seed, std::uint64_t epoch, std::uint64_t word, int half_bits) {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = word >> half_bits;
  std::uint64_t right = word & mask;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = random_bits(seed, epoch * kRounds + static_cast<std::uint64_t>(round), right) & mask;
    const std::uint64_t next = left ^ mixed;
    left = right;
    right = next;
  }
  return (left << half_bits) | right;
}

}  // namespace

std::int64_t sample_at(std::uint64_t seed, std::int64_t position, std::int64_t count) {
  SLUICE_CHECK(count > 0 && position >= 0, "a position within a non-empty data set");
  const auto size = static_cast<std::uint64_t>(count);
  const auto epoch = static_cast<std::uint64_t>(position) / size;
  const int half_bits = (std::bit_width(size) + 1) / 2;
  std::uint64_t word = static_cast<std::uint64_t>(position) % size;
  do {
    word = permute(seed, epoch, word, half_bits);
  } while (word >= size);
  return static_cast<std::int64_t>(word);
}

}  // namespace sluice::data
