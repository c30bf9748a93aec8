// The processes that train one model together, each with batches of its own: what they tell one another.
//
// Every rank makes the same calls in the same order on a channel, and each call waits for all of them. Channels are apart:
// calls on two of them may run at once, on two threads. Results depend on what the ranks say alone, never on who is first.
// A rank that dies or fails ends the processes of all others; an error here is one of this rank's own.
#pragma once

#include <cstddef>
#include <span>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::kernels {

// One for each kind of op that waits for other ranks, as ops of different kinds may run on different processors; and one for
// what is said between steps.
enum class Channel { kReduceScatter, kAllGather, kClipFactor, kBetweenSteps };
inline constexpr std::size_t kChannels = 4;

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int count() const = 0;
  virtual int rank() const = 0;

  // `parts` is cut into count() parts of `part_bytes`, the last ones shorter or empty: part k goes to rank k. `received`
  // gets what each rank has for this one, in their order: count() times its own part's bytes.
  virtual Status exchange(Channel channel, std::span<const std::byte> parts, Bytes part_bytes,
                          std::span<std::byte> received) = 0;

  // `all` is cut likewise, and becomes what the ranks have as their parts; this rank's is `part`.
  virtual Status gather(Channel channel, std::span<const std::byte> part, Bytes part_bytes,
                        std::span<std::byte> all) = 0;

  // Everybody gets what rank 0 has.
  virtual Status share(std::span<std::byte> bytes) = 0;

  // That this rank has sent to others so far, on all channels.
  virtual Bytes bytes_sent() const = 0;
};

// Of `total` bytes cut into parts of `part_bytes`: how many are of part k.
constexpr Bytes bytes_of_part(Bytes total, Bytes part_bytes, int k) {
  const Bytes left = total - part_bytes * k;
  return left < 0 ? 0 : left < part_bytes ? left : part_bytes;
}

}  // namespace sluice::kernels
