#include "sluice/memory/offsets/stitched_packing.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>

#include "sluice/base/check.hpp"
#include "sluice/memory/allocators/free_ranges.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

using Time = std::int32_t;

constexpr Time kForEver = std::numeric_limits<Time>::max();

// Free memory, and when it ceases to be.
struct Piece {
  Interval<Bytes> bytes;
  Time until = kForEver;
};

// Memory while time goes on. What returns is away for a while from memory that is its own.
class FreeMemory {
 public:
  explicit FreeMemory(Bytes bytes) : free_(bytes) {}

  void give(Interval<Bytes> bytes) { free_.give(bytes); }
  void take(Interval<Bytes> bytes) { free_.take(bytes); }
  void lend(Interval<Bytes> bytes, Time until) {
    give(bytes);
    lent_.emplace(bytes.begin, Piece{bytes, until});
  }
  void take_back(Interval<Bytes> bytes) {
    lent_.erase(bytes.begin);
    take(bytes);
  }

  // By ascending offset; those that last.
  std::vector<Piece> lasting(Time end) const {
    std::vector<Piece> pieces;
    pieces.reserve(free_.ranges().size() + 2 * lent_.size());
    const auto add = [&](Bytes begin, Bytes stop, Time until) {
      if (begin < stop && until >= end) pieces.push_back({{begin, stop}, until});
    };
    auto lent = lent_.begin();
    for (const auto& [begin, stop] : free_.ranges()) {
      Bytes at = begin;
      while (lent != lent_.end() && lent->second.bytes.end <= begin) ++lent;
      for (; lent != lent_.end() && lent->first < stop; ++lent) {
        const Piece& each = lent->second;
        add(at, each.bytes.begin, kForEver);
        add(std::max(at, each.bytes.begin), std::min(stop, each.bytes.end), each.until);
        at = std::min(stop, each.bytes.end);
        if (each.bytes.end > stop) break;
      }
      add(at, stop, kForEver);
    }
    return pieces;
  }

 private:
  FreeRanges free_;
  std::map<Bytes, Piece> lent_;  // by begin; some of it may be taken
};

// The tightest run of pieces that holds it; of several, one that ceases first.
std::optional<Bytes> in_one_piece(std::span<const Piece> pieces, Bytes bytes, Bytes alignment) {
  std::optional<Bytes> best;
  std::pair<Time, Bytes> tightest{kForEver, std::numeric_limits<Bytes>::max()};
  for (std::size_t i = 0; i < pieces.size();) {
    Piece run = pieces[i];
    for (++i; i < pieces.size() && pieces[i].bytes.begin == run.bytes.end; ++i) {
      run.bytes.end = pieces[i].bytes.end;
      run.until = std::max(run.until, pieces[i].until);
    }
    const Bytes begin = align_up(run.bytes.begin, alignment);
    const std::pair<Time, Bytes> key{run.until, run.bytes.length()};
    if (begin + bytes > run.bytes.end || key >= tightest) continue;
    tightest = key;
    best = begin;
  }
  return best;
}

// Whole huge pages first, so that they can be mapped whole, then what else it takes.
struct SeveralPieces {
  std::vector<Interval<Bytes>> memory;
  Bytes missing = 0;
  Time until = 0;  // when the last of them ceases
};

Interval<Bytes> whole_units(const Interval<Bytes>& bytes, Bytes unit) {
  const Bytes begin = align_up(bytes.begin, unit);
  return {begin, std::max(begin, align_down(bytes.end, unit))};
}

class SeveralSearch {
 public:
  SeveralSearch(std::span<const Piece> lasting, bool sparing) : sparing_(sparing) {
    for (const Piece& each : lasting) keep(whole_units(each.bytes, kBlockAlignment), each.until);
  }

  SeveralPieces find(Bytes bytes) {
    found_.missing = align_up(bytes, kBlockAlignment);
    take_huge_pages(align_down(bytes, kHugePage));
    const auto key = [&](const Piece& piece) {
      const bool holds_huge = !whole_units(piece.bytes, kHugePage).empty();
      return std::tuple(sparing_ ? piece.until : 0, holds_huge, piece.until, -piece.bytes.length());
    };
    std::ranges::stable_sort(pieces_, {}, key);
    for (const Piece& each : pieces_) {
      if (found_.missing == 0) break;
      take({each.bytes.begin, each.bytes.begin + std::min(found_.missing, each.bytes.length())}, each.until);
    }
    return std::move(found_);
  }

 private:
  void keep(const Interval<Bytes>& bytes, Time until) {
    if (!bytes.empty()) pieces_.push_back({bytes, until});
  }
  void take(const Interval<Bytes>& bytes, Time until) {
    found_.memory.push_back(bytes);
    found_.missing -= bytes.length();
    found_.until = std::max(found_.until, until);
  }

  // Those that cease first, of the longest runs.
  void take_huge_pages(Bytes bytes) {
    std::vector<Piece> pieces = std::move(pieces_);
    pieces_.clear();
    const auto key = [](const Piece& piece) { return std::pair(piece.until, -piece.bytes.length()); };
    std::ranges::stable_sort(pieces, {}, key);
    for (const Piece& each : pieces) {
      const Interval<Bytes> whole = whole_units(each.bytes, kHugePage);
      const Interval<Bytes> taken{whole.begin, whole.begin + std::min(bytes, whole.length())};
      if (taken.empty()) {
        keep(each.bytes, each.until);
        continue;
      }
      take(taken, each.until);
      bytes -= taken.length();
      keep({each.bytes.begin, taken.begin}, each.until);
      keep({taken.end, each.bytes.end}, each.until);
    }
  }

  bool sparing_;
  std::vector<Piece> pieces_;
  SeveralPieces found_;
};

// Whether `pieces`, ascending, hold all of it.
bool hold(std::span<const Piece> pieces, Interval<Bytes> bytes) {
  auto next = std::ranges::upper_bound(pieces, bytes.begin, {}, [](const Piece& piece) { return piece.bytes.begin; });
  if (next == pieces.begin()) return false;
  for (--next; next != pieces.end() && next->bytes.begin <= bytes.begin; ++next) {
    bytes.begin = std::max(bytes.begin, next->bytes.end);
    if (bytes.empty()) return true;
  }
  return false;
}

// The first `bytes` of them.
std::vector<Interval<Bytes>> first_of(std::span<const Interval<Bytes>> memory, Bytes bytes) {
  std::vector<Interval<Bytes>> first;
  for (const Interval<Bytes>& piece : memory) {
    if (bytes == 0) break;
    first.push_back({piece.begin, piece.begin + std::min(bytes, piece.length())});
    bytes -= first.back().length();
  }
  return first;
}

class StitchedPacker {
 public:
  StitchedPacker(std::span<const OffsetItem> items, Bytes memory, Bytes first_address, bool sparing, bool reuse)
      : items_(items), memory_(memory), next_address_(first_address), sparing_(sparing), reuse_(reuse), free_(memory) {
    packing_.addresses.assign(items.size(), 0);
    for (const OffsetItem& item : items) {
      SLUICE_CHECK(!item.fixed_offset, "no fixed offsets where memory is stitched");
      for (const Interval<Time>& live : item.live) {
        horizon_ = {std::min(horizon_.begin, live.begin), std::max(horizon_.end, live.end)};
      }
    }
  }

  StitchedPacking run() {
    std::vector<std::size_t> comers = place_returning();
    std::ranges::stable_sort(comers, {}, [&](std::size_t i) {
      return std::tuple(items_[i].live.front().begin, -items_[i].alignment, -items_[i].bytes);
    });
    for (const std::size_t i : comers) {
      if (packing_.missing > 0) break;
      go_on_to(items_[i].live.front().begin);
      place(i);
    }
    return std::move(packing_);
  }

 private:
  // When memory changes hands, in this order at one time.
  enum class Change { kGiven, kLent, kReturns };
  struct Event {
    Time time = 0;
    Change change = Change::kGiven;
    Interval<Bytes> bytes;
    Time until = 0;
    auto key() const { return std::tuple(time, change, bytes.begin); }
    bool operator>(const Event& other) const { return key() > other.key(); }
  };

  Bytes bytes_of(std::size_t i) const { return align_up(items_[i].bytes, items_[i].alignment); }

  // What lives always, or leaves and returns, from the bottom up; what leaves earlier first. Returns the other items.
  std::vector<std::size_t> place_returning() {
    std::vector<std::size_t> returning;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].live.empty()) continue;
      const bool always = items_[i].live.size() == 1 && items_[i].live.front() == horizon_;
      (always || items_[i].live.size() > 1 ? returning : others).push_back(i);
    }
    std::ranges::stable_sort(
        returning, {}, [&](std::size_t i) { return std::tuple(-items_[i].live.front().end, -items_[i].alignment); });
    Bytes top = 0;
    for (const std::size_t i : returning) {
      top = align_up(top, items_[i].alignment);
      const Interval<Bytes> bytes{top, top + bytes_of(i)};
      packing_.addresses[i] = top;
      top = bytes.end;
      if (top > memory_) continue;
      free_.take(bytes);
      Time away_from = horizon_.begin;
      for (const Interval<Time>& live : items_[i].live) {
        if (away_from < live.begin) events_.push({away_from, Change::kLent, bytes, live.begin});
        if (away_from < live.begin) events_.push({live.begin, Change::kReturns, bytes});
        away_from = live.end;
      }
      events_.push({away_from, Change::kGiven, bytes});
    }
    packing_.missing = std::max<Bytes>(0, top - memory_);
    return others;
  }

  void go_on_to(Time now) {
    for (; !events_.empty() && events_.top().time <= now; events_.pop()) {
      const Event& event = events_.top();
      switch (event.change) {
        case Change::kGiven:
          free_.give(event.bytes);
          break;
        case Change::kLent:
          free_.lend(event.bytes, event.until);
          break;
        case Change::kReturns:
          free_.take_back(event.bytes);
          break;
      }
    }
  }

  void place(std::size_t i) {
    std::vector<Piece> pieces = free_.lasting(items_[i].live.front().end);
    if (!sparing_ && place_whole(i, pieces)) return;
    SeveralPieces several = SeveralSearch(pieces, sparing_).find(bytes_of(i));
    packing_.missing = several.missing;
    if (packing_.missing > 0) return;
    // Whatever is taken instead lasts no longer than what these would have taken.
    std::erase_if(pieces, [&](const Piece& piece) { return piece.until > several.until; });
    if (sparing_ && place_whole(i, pieces)) return;
    if (reuse_ && place_in_stitch(i, pieces)) return;
    for (const Interval<Bytes>& piece : several.memory) occupy(piece, items_[i].live.front().end);
    packing_.addresses[i] = add_stitch(std::move(several.memory));
  }

  // At the addresses of an earlier stitch, the shortest of those whose memory is free again.
  bool place_in_stitch(std::size_t i, std::span<const Piece> pieces) {
    const Bytes bytes = align_up(bytes_of(i), kBlockAlignment);
    const Stitch* shortest = nullptr;
    Bytes length = std::numeric_limits<Bytes>::max();
    for (const Stitch& stitch : packing_.stitches) {
      const Bytes whole = stitch_end(stitch) - stitch.address;
      if (whole < bytes || whole >= length) continue;
      const auto held = [&](const Interval<Bytes>& piece) { return hold(pieces, piece); };
      if (!std::ranges::all_of(first_of(stitch.memory, bytes), held)) continue;
      shortest = &stitch;
      length = whole;
    }
    if (shortest == nullptr) return false;
    for (const Interval<Bytes>& piece : first_of(shortest->memory, bytes)) occupy(piece, items_[i].live.front().end);
    packing_.addresses[i] = shortest->address;
    return true;
  }

  bool place_whole(std::size_t i, std::span<const Piece> pieces) {
    const std::optional<Bytes> offset = in_one_piece(pieces, bytes_of(i), items_[i].alignment);
    if (!offset) return false;
    packing_.addresses[i] = *offset;
    occupy({*offset, *offset + bytes_of(i)}, items_[i].live.front().end);
    return true;
  }

  void occupy(Interval<Bytes> bytes, Time end) {
    free_.take(bytes);
    events_.push({end, Change::kGiven, bytes});
  }

  // Huge pages lie at addresses of huge pages.
  Bytes add_stitch(std::vector<Interval<Bytes>> memory) {
    const bool huge = memory.front().begin % kHugePage == 0 && memory.front().length() >= kHugePage;
    if (huge) next_address_ = align_up(next_address_, kHugePage);
    packing_.stitches.push_back({next_address_, std::move(memory)});
    next_address_ = stitch_end(packing_.stitches.back());
    return packing_.stitches.back().address;
  }

  std::span<const OffsetItem> items_;
  Bytes memory_;
  Bytes next_address_;
  bool sparing_;  // takes no piece that lasts longer where others do, be it in more pieces
  bool reuse_;    // of stitches, by later items; what it takes may last longer
  FreeMemory free_;
  Interval<Time> horizon_{std::numeric_limits<Time>::max(), std::numeric_limits<Time>::min()};
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  StitchedPacking packing_;
};

}  // namespace

StitchedPacking pack_stitched(std::span<const OffsetItem> items, Bytes memory, Bytes first_address) {
  StitchedPacking packing = StitchedPacker(items, memory, first_address, false, true).run();
  if (packing.missing > 0) packing = StitchedPacker(items, memory, first_address, true, true).run();
  if (packing.missing > 0) packing = StitchedPacker(items, memory, first_address, true, false).run();
  return packing;
}

}  // namespace sluice::memory
