#include "sluice/measure/encoding_probe.hpp"

#include <algorithm>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/base/time_of.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/encoding/chunk_coder.hpp"
#include "sluice/plan/own_encoding.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::measure {
namespace {

constexpr Bytes kCodedBytes = 64 * kMiB;  // beyond the caches
constexpr int kCoderRepetitions = 3;
constexpr Bytes kFloatBytes = 4;
constexpr std::uint64_t kTwoBits = 0x0303030303030303;

void fill_with_half_zeros(std::byte* chunk) {
  for (Bytes i = 0; i < memory::kEncodedChunkBytes / kFloatBytes; ++i) {
    const std::uint64_t bits = random_bits(1, 0, static_cast<std::uint64_t>(i));
    const float value = (bits & 1) == 0 ? 0.0F : static_cast<float>(bits >> 40U);
    std::memcpy(chunk + i * kFloatBytes, &value, sizeof value);
  }
}

void fill_with_small_integers(std::byte* chunk) {
  for (Bytes i = 0; i < memory::kEncodedChunkBytes; i += Bytes{sizeof kTwoBits}) {
    const std::uint64_t eight = random_bits(1, 0, static_cast<std::uint64_t>(i)) & kTwoBits;
    std::memcpy(chunk + i, &eight, sizeof eight);
  }
}

}  // namespace

// Decoding undoes what encoding did, so each round begins with the same bytes. Encoded chunks go to two rooms in turn,
// as they would to staging, and from there to where a transfer would have read them.
Result<profile::CoderSpeed> measure_coder(memory::Encoding encoding) {
  SLUICE_ASSIGN(const memory::Arena tensor, memory::Arena::map(kCodedBytes, "a tensor to encode"));
  SLUICE_ASSIGN(const memory::Arena staging, memory::Arena::map(2 * memory::kEncodedChunkBytes, "staging"));
  const bool integers = encoding == memory::Encoding::kNarrow;
  integers ? fill_with_small_integers(tensor.data()) : fill_with_half_zeros(tensor.data());
  const Bytes element_bytes = integers ? 1 : kFloatBytes;
  for (Bytes at = memory::kEncodedChunkBytes; at < kCodedBytes; at += memory::kEncodedChunkBytes) {
    std::memcpy(tensor.data() + at, tensor.data(), as_index(memory::kEncodedChunkBytes));
  }
  memory::ChunkCoder coder;
  memory::StoredChunk stored;
  profile::CoderSpeed best;
  for (int i = 0; i < kCoderRepetitions; ++i) {
    const Seconds packing = time_of([&] {
      for (Bytes at = 0; at < kCodedBytes; at += memory::kEncodedChunkBytes) {
        std::byte* const room = staging.data() + at % (2 * memory::kEncodedChunkBytes);
        stored = coder.encode(encoding, tensor.data() + at, memory::kEncodedChunkBytes, element_bytes, room);
      }
    });
    for (Bytes at = 0; at < kCodedBytes; at += memory::kEncodedChunkBytes) {
      std::memcpy(tensor.data() + at, staging.data(), as_index(stored.stored_bytes));
    }
    const Seconds unpacking = time_of([&] {
      for (Bytes at = 0; at < kCodedBytes; at += memory::kEncodedChunkBytes) {
        coder.decode(encoding, tensor.data() + at, memory::kEncodedChunkBytes, element_bytes, stored);
      }
    });
    best.encode = std::max(best.encode, static_cast<double>(kCodedBytes) / packing);
    best.decode = std::max(best.decode, static_cast<double>(kCodedBytes) / unpacking);
  }
  return best;
}

Status EncodingRecorder::before_op(graph::OpIndex /*op*/, std::span<void* const> operands) {
  operands_.assign(operands.begin(), operands.end());
  return {};
}

// Whole pages of the tensor: what lies behind it on its last page is not the op's.
void EncodingRecorder::after_op(graph::OpIndex op) {
  const graph::Op& run = graph_.op(op);
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const graph::Tensor& tensor = graph_.tensor(run.outputs[i]);
    if (graph::is_persistent(tensor.role)) continue;
    const Bytes whole = align_down(tensor.bytes, memory::kBlockAlignment);
    const auto* bytes = static_cast<const std::byte*>(operands_[run.inputs.size() + i]);
    const Bytes rest = plan::stored_bytes(tensor) - whole;
    Bytes& encoded = encoded_bytes_[as_index(run.outputs[i])];
    const Bytes packed =
        memory::measure_encoded(plan::own_encoding(tensor), bytes, whole, graph::size_of(tensor.dtype));
    encoded = std::max(encoded, packed + rest);
  }
}

}  // namespace sluice::measure
