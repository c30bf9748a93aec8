#include "sluice/exec/measure/coder_probe.hpp"

#include <algorithm>
#include <cstring>

#include "sluice/base/random.hpp"
#include "sluice/exec/transfer/probe_clock.hpp"
#include "sluice/exec/transfer/zero_value.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice {
namespace {

constexpr Bytes kCodedBytes = 64 * kMiB;  // beyond the caches
constexpr int kCoderRepetitions = 3;
constexpr Bytes kFloatBytes = 4;

void fill_with_half_zeros(std::byte* chunk) {
  for (Bytes i = 0; i < kEncodedChunkBytes / kFloatBytes; ++i) {
    const std::uint64_t bits = random_bits(1, 0, static_cast<std::uint64_t>(i));
    const float value = (bits & 1) == 0 ? 0.0F : static_cast<float>(bits >> 40U);
    std::memcpy(chunk + i * kFloatBytes, &value, sizeof value);
  }
}

}  // namespace

// Decoding undoes what encoding did, so each round begins with the same bytes. Encoded chunks go to two rooms in turn,
// as they would to staging, and from there to where a transfer would have read them.
Result<CoderSpeed> measure_coder() {
  SLUICE_ASSIGN(const Arena tensor, Arena::map(kCodedBytes, "a tensor to encode"));
  SLUICE_ASSIGN(const Arena staging, Arena::map(2 * kEncodedChunkBytes, "staging"));
  fill_with_half_zeros(tensor.data());
  for (Bytes at = kEncodedChunkBytes; at < kCodedBytes; at += kEncodedChunkBytes) {
    std::memcpy(tensor.data() + at, tensor.data(), static_cast<std::size_t>(kEncodedChunkBytes));
  }
  ZeroValueCoder coder;
  StoredChunk stored;
  CoderSpeed best;
  for (int i = 0; i < kCoderRepetitions; ++i) {
    const Seconds encoding = time_of([&] {
      for (Bytes at = 0; at < kCodedBytes; at += kEncodedChunkBytes) {
        std::byte* const room = staging.data() + at % (2 * kEncodedChunkBytes);
        stored = coder.encode(tensor.data() + at, kEncodedChunkBytes, kFloatBytes, room);
      }
    });
    for (Bytes at = 0; at < kCodedBytes; at += kEncodedChunkBytes) {
      std::memcpy(tensor.data() + at, staging.data(), static_cast<std::size_t>(stored.stored_bytes));
    }
    const Seconds decoding = time_of([&] {
      for (Bytes at = 0; at < kCodedBytes; at += kEncodedChunkBytes) {
        coder.decode(tensor.data() + at, kEncodedChunkBytes, kFloatBytes, stored);
      }
    });
    best.encode = std::max(best.encode, static_cast<double>(kCodedBytes) / encoding);
    best.decode = std::max(best.decode, static_cast<double>(kCodedBytes) / decoding);
  }
  return best;
}

}  // namespace sluice
