// The tree of all assignments of offsets below a capacity, walked depth first in one order of trial.
//
// Any assignment can be pushed down until each block rests on offset 0 or on a block below it. Named by rising offset,
// ties by rank, such an assignment is a sequence in which every block goes to the lowest place that is free above all
// blocks named before. A node of the tree is such a sequence's beginning; its branches name the next block. A branch
// ends as soon as one of these shows it to be hopeless:
//
//   room      a section's open blocks, stacked from the lowest place that any of them may have, pass the capacity
//   rest      a block that was passed over (its place is below what was named last) must come to rest on a block that
//             is still open and meets it, so it lies no lower than the lowest top of these; with none left it floats
//   bottom    a block that is too high to be the lowest of a section's open blocks lies on one that is not
//   lower     an open block would fit entirely below the next one's place: another branch has it there
//   alike     of two blocks that differ in nothing, the second is named first
//
// Places that `rest` and `bottom` raise are what `room` reckons with. When no open block lives across a section's edge,
// what comes before and after are problems of their own, the smaller solved first.
//
// The ideas of canonical sequences, of stacking sections and of `lower` are MiniMalloc's (Moffitt, ISMM 2023).
// Exponential at worst; a node costs about the sections that its open blocks are live in, and their neighbours. Not
// thread-safe.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/offsets/offset_blocks.hpp"

namespace sluice::memory {

class OffsetTree {
 public:
  enum class Outcome { kFound, kExhausted, kOutOfNodes, kOutOfLooks, kStopped };

  struct Limits {
    std::int64_t nodes = 0;  // of this walk
    std::int64_t looks = 0;  // of all walks so far: how often a block was looked at in a section or beside another
    const std::function<bool()>& stop;  // asked about once a millisecond; may be empty
  };

  OffsetTree(std::span<const OffsetBlock> blocks, Bytes capacity);

  // `ranks` by block: all different, lower ones are tried first. kExhausted: no assignment fits.
  Outcome walk(std::vector<std::int32_t> ranks, const Limits& limits);

  const std::vector<Bytes>& offsets() const { return offsets_; }  // by block; of the last walk, if it found them
  // By block, over all walks: how often a branch ended because a section that it is live in had no room, or it itself.
  const std::vector<std::int64_t>& failures() const { return failures_; }
  std::int64_t looks() const { return looks_; }
  std::int64_t placed() const { return times_placed_; }

 private:
  using Name = std::int32_t;  // of a block: its index

  // Where the block named last was put: the next one is named behind it.
  struct Last {
    Bytes offset;
    std::int32_t rank;
  };

  struct Candidate {
    Bytes offset;
    std::int32_t rank;
    Name name;
    auto operator<=>(const Candidate&) const = default;
  };

  struct Change {
    Name name;
    Bytes lowest_before;  // kNowhere: it was placed
  };

  struct SectionState {
    Bytes floor = 0;       // the lowest place of an open block
    Bytes open = 0;        // bytes of the open blocks
    Bytes bottom_top = 0;  // the lowest top of an open block that can be the lowest there
  };

  bool solve(std::span<const Name> open, Last last);
  bool solve_connected(std::span<const Name> open, Last last);
  bool try_next(std::span<const Name> open, const Candidate& next);
  std::vector<Candidate> candidates_among(std::span<const Name> open, Last last) const;
  void place(const Candidate& next);
  void take_back(std::size_t length);
  bool bound_places(std::span<const Name> open, Last last);
  bool rest_on_open(std::span<const Name> open, Last last);
  bool stack_sections(std::span<const Name> open);
  bool lift_off_bottoms(std::span<const Name> open);
  bool passed_over(Name name, Last last) const;
  bool elder_is_open(Name name) const;
  bool out_of_patience();
  void blame(Name name) { ++failures_[as_index(name)]; }
  const OffsetBlock& block(Name name) const { return blocks_[as_index(name)]; }

  std::span<const OffsetBlock> blocks_;
  Bytes capacity_;
  std::vector<std::vector<Name>> beside_;  // live together with each
  std::vector<Name> elder_;                // the last one alike and before it; -1: none
  std::vector<Name> by_begin_;             // all blocks in the order in which they begin to live
  std::vector<std::int32_t> ranks_;
  std::vector<Bytes> lowest_;  // above all that is placed beside it
  std::vector<Bytes> place_;   // scratch, of open blocks: no lower than this in any assignment below the node
  std::vector<Bytes> offsets_;
  std::vector<char> placed_;
  std::vector<Change> trail_;
  std::vector<SectionState> sections_;  // scratch
  std::vector<std::int64_t> failures_;
  const Limits* limits_ = nullptr;
  Outcome ended_ = Outcome::kExhausted;
  std::int64_t nodes_ = 0;  // of this walk
  std::int64_t looks_ = 0;
  std::int64_t next_stop_ = 0;
  std::int64_t times_placed_ = 0;
};

}  // namespace sluice::memory
