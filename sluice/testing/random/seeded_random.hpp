// Random choices for tests: the same seed gives the same choices on every machine, and they do not depend on the
// standard library's distributions. Print the seed when a test fails (SCOPED_TRACE).
#pragma once

#include <cstdint>
#include <vector>

#include "sluice/base/check.hpp"
#include "sluice/base/random.hpp"

namespace sluice::testing {

class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : seed_(seed) {}

  // Uniform in [low, high]; modulo bias is of no concern here.
  template <typename Integer>
  Integer between(Integer low, Integer high) {
    SLUICE_CHECK(low <= high, "an empty range has no random element");
    const auto count = static_cast<std::uint64_t>(high - low) + 1;
    return static_cast<Integer>(low + static_cast<Integer>(random_bits(seed_, 0, next_++) % count));
  }
  bool chance(double probability) { return random_uniform(seed_, 1, next_++) < probability; }

  template <typename T>
  const T& pick(const std::vector<T>& choices) {
    return choices[between<std::size_t>(0, choices.size() - 1)];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

}  // namespace sluice::testing
