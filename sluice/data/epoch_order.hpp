// The order in which a data set's samples are seen: every epoch a fresh permutation, without storing any.
//
// A four-round Feistel network over the smallest even number of bits that counts the samples is a bijection; indices
// that fall outside the set are sent through again (cycle walking, at most about four times on average). The sample at
// a position depends on (seed, position) alone, so that steps can be repeated and runs resumed.
#pragma once

#include <cstdint>

namespace sluice::data {

// Sample index in [0, count) at `position` (0, 1, 2, ... over all epochs). Each epoch of `count` positions visits
// every sample once.
std::int64_t sample_at(std::uint64_t seed, std::int64_t position, std::int64_t count);

}  // namespace sluice::data
