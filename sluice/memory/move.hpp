// What a policy decides: ranges of an address space that are to lie in another tier. Whoever charges the time
// (policies/charge.hpp) and whoever performs it (movers/range_mover.hpp) read the same list.
#pragma once

#include <span>
#include <vector>

#include "sluice/base/interval.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

// Where bytes are that nobody has touched yet: to place them is a move without a copy.
inline constexpr TierId kUntouched = -1;

struct RangeMove {
  Interval<Bytes> bytes;
  TierId from = kUntouched;
  TierId to = kFastTier;
  bool operator==(const RangeMove&) const = default;
};

// Moves in the order in which they were decided. Neighbours on the same way, one decided behind the other, are one move.
class MoveList {
 public:
  void add(const RangeMove& move) {
    if (!moves_.empty()) {
      RangeMove& last = moves_.back();
      if (last.from == move.from && last.to == move.to && last.bytes.end == move.bytes.begin) {
        last.bytes.end = move.bytes.end;
        return;
      }
    }
    moves_.push_back(move);
  }

  void clear() { moves_.clear(); }
  bool empty() const { return moves_.empty(); }
  std::span<const RangeMove> moves() const { return moves_; }

 private:
  std::vector<RangeMove> moves_;
};

// Bytes copied towards the fast tier, and away from it. What nobody had touched is not copied.
struct Copied {
  Bytes in = 0;
  Bytes out = 0;
  Copied& operator+=(const Copied& more);
  bool operator==(const Copied&) const = default;
};
Copied copied_by(const MoveList& moves);

// The same, added to bytes by LinkId. There is a link for every copy.
void add_to_links(const Machine& machine, const MoveList& moves, std::vector<Bytes>& link_bytes);

}  // namespace sluice::memory
