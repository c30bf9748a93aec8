// Which parts of a paged memory are there, in what state, and which one goes first where there is no room.
//
//   absent -> reading -> aside <-> shown
//                        aside -> absent
//
// A part that is there has a slot of memory. It is shown to those who use the memory, or set aside in its slot, so that its next
// touch is seen. A shown part is clean (its first store is seen) or dirty; a dirty one is written while it is set aside.
// Pure bookkeeping, no pages. Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/paging/use_history.hpp"

namespace sluice::memory {

using PartId = UseHistory::Object;

struct Part {
  enum class Place : std::uint8_t { kAbsent, kReading, kAside, kShown };
  Place place = Place::kAbsent;
  bool wanted = false;       // somebody waits for it
  bool dirty = false;        // differs from what the files have
  bool writing = false;      // aside, until it is written
  bool stays = false;        // there is no file to write it to, or that file has refused it
  bool changed = false;      // what is newest, but for a dirty part, is in the spill file
  int slot = -1;             // of one that is there, or being read
  std::int64_t newest = -1;  // the number of uses when it was used last, or came

  bool may_leave() const { return (place == Place::kShown || place == Place::kAside) && !writing && !stays && !wanted; }
};

// The parts that were touched last, so many of them, each once.
class LastTouched {
 public:
  explicit LastTouched(std::size_t parts) : among_(parts, false) {}

  void touch(PartId id);
  void set_most(std::size_t most) { most_ = most; }
  std::optional<PartId> take_surplus();  // the one that was touched longest ago, where there are more
  bool holds(PartId id) const { return among_[as_index(id)]; }
  std::optional<PartId> newest() const { return order_.empty() ? std::nullopt : std::optional(order_.back()); }

 private:
  std::size_t most_ = 0;
  std::deque<PartId> order_;
  std::vector<bool> among_;
};

class PartTable {
 public:
  static constexpr std::size_t kNotForeseen = std::numeric_limits<std::size_t>::max();

  explicit PartTable(std::size_t parts);

  Part& operator[](PartId id) { return parts_[as_index(id)]; }
  const Part& operator[](PartId id) const { return parts_[as_index(id)]; }
  std::size_t size() const { return parts_.size(); }

  UseHistory& history() { return history_; }
  void use(PartId id);
  void came(PartId id) { (*this)[id].newest = uses_; }

  // That may leave, and is used last of all and later than the `ahead`-th use from now; of those whose next use is unknown the
  // one that was used, or came, longest ago. A clean one, or a dirty one; none of `kept`.
  std::optional<PartId> leaves_first(std::size_t ahead, bool dirty, const LastTouched& kept);

  std::size_t next_use(PartId id);  // so many uses from now on; kNotForeseen

  // How far to look ahead for who is used when.
  void set_horizon(std::size_t uses) { horizon_ = uses; }

 private:
  void foresee();
  bool leaves_before(PartId one, PartId other) const;

  std::vector<Part> parts_;
  UseHistory history_;
  std::size_t horizon_ = 0;
  std::vector<std::size_t> next_use_;  // from now on, of each; as of the use with that number
  std::int64_t foreseen_at_ = -1, uses_ = 0;
};

}  // namespace sluice::memory
