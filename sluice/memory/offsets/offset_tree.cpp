#include "sluice/memory/offsets/offset_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"

namespace sluice::memory {
namespace {

constexpr std::int64_t kLooksBetweenStops = 300'000;
constexpr Bytes kNowhere = std::numeric_limits<Bytes>::max();

}  // namespace

OffsetTree::OffsetTree(std::span<const OffsetBlock> blocks, Bytes capacity)
    : blocks_(blocks),
      capacity_(capacity),
      beside_(blocks.size()),
      elder_(blocks.size(), -1),
      by_begin_(blocks.size()),
      lowest_(blocks.size(), 0),
      place_(blocks.size(), 0),
      offsets_(blocks.size(), 0),
      failures_(blocks.size(), 0) {
  std::iota(by_begin_.begin(), by_begin_.end(), 0);
  std::ranges::stable_sort(by_begin_, {}, [this](Name name) { return block(name).span().begin; });
  Section sections = 0;
  for (std::size_t a = 0; a < blocks_.size(); ++a) {
    sections = std::max(sections, blocks_[a].span().end);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (a != b && live_together(blocks_[a], blocks_[b])) beside_[a].push_back(static_cast<Name>(b));
      if (b < a && blocks_[a].alike(blocks_[b])) elder_[a] = static_cast<Name>(b);
    }
  }
  sections_.resize(as_index(sections));
}

OffsetTree::Outcome OffsetTree::walk(std::vector<std::int32_t> ranks, const Limits& limits) {
  ranks_ = std::move(ranks);
  limits_ = &limits;
  ended_ = Outcome::kExhausted;
  nodes_ = 0;
  trail_.clear();
  placed_.assign(blocks_.size(), 0);
  std::ranges::fill(lowest_, 0);
  return solve(by_begin_, {0, -1}) ? Outcome::kFound : ended_;
}

// Places all of `open`, which begin one after the other, problem by problem.
bool OffsetTree::solve(std::span<const Name> open, Last last) {
  std::vector<std::span<const Name>> problems;
  Section end = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Interval<Section> span = block(open[i]).span();
    if (i > first && span.begin >= end) {
      problems.push_back(open.subspan(first, i - first));
      first = i;
    }
    end = std::max(end, span.end);
  }
  problems.push_back(open.subspan(first));
  std::ranges::stable_sort(problems, {}, &std::span<const Name>::size);
  return std::ranges::all_of(problems, [&](std::span<const Name> each) { return solve_connected(each, last); });
}

bool OffsetTree::solve_connected(std::span<const Name> open, Last last) {
  if (open.empty()) return true;
  if (out_of_patience()) return false;
  if (!bound_places(open, last)) return false;
  for (const Candidate& next : candidates_among(open, last)) {
    if (try_next(open, next)) return true;
    if (ended_ != Outcome::kExhausted) return false;
  }
  return false;
}

std::vector<OffsetTree::Candidate> OffsetTree::candidates_among(std::span<const Name> open, Last last) const {
  Bytes lowest_top = kNowhere;
  for (const Name name : open) lowest_top = std::min(lowest_top, lowest_[as_index(name)] + block(name).bytes);
  std::vector<Candidate> candidates;
  for (const Name name : open) {
    const Bytes offset = lowest_[as_index(name)];
    const bool can_be_next = !passed_over(name, last) && offset < lowest_top && place_[as_index(name)] == offset;
    if (can_be_next && !elder_is_open(name)) candidates.push_back({offset, ranks_[as_index(name)], name});
  }
  std::ranges::sort(candidates);
  return candidates;
}

bool OffsetTree::try_next(std::span<const Name> open, const Candidate& next) {
  const std::size_t trail = trail_.size();
  place(next);
  std::vector<Name> rest;
  rest.reserve(open.size());
  std::ranges::copy_if(open, std::back_inserter(rest), [&](Name name) { return name != next.name; });
  if (solve(rest, {next.offset, next.rank})) return true;
  take_back(trail);
  return false;
}

void OffsetTree::place(const Candidate& next) {
  ++times_placed_;
  trail_.push_back({next.name, kNowhere});
  placed_[as_index(next.name)] = 1;
  offsets_[as_index(next.name)] = next.offset;
  const Bytes top = next.offset + block(next.name).bytes;
  for (const Name other : beside_[as_index(next.name)]) {
    Bytes& lowest = lowest_[as_index(other)];
    if (placed_[as_index(other)] != 0 || lowest >= top) continue;
    trail_.push_back({other, lowest});
    lowest = align_up(top, block(other).alignment);
  }
}

// Undoes all that was done since the trail was so long: of problems that were solved beside a hopeless one, too.
void OffsetTree::take_back(std::size_t length) {
  for (; trail_.size() > length; trail_.pop_back()) {
    const Change& change = trail_.back();
    if (change.lowest_before == kNowhere) {
      placed_[as_index(change.name)] = 0;
    } else {
      lowest_[as_index(change.name)] = change.lowest_before;
    }
  }
}

// Finds the places that open blocks cannot be below; false: one of them, or a section, has no room.
bool OffsetTree::bound_places(std::span<const Name> open, Last last) {
  return rest_on_open(open, last) && stack_sections(open) && lift_off_bottoms(open) && stack_sections(open);
}

bool OffsetTree::rest_on_open(std::span<const Name> open, Last last) {
  const auto lowest_place = [&](Name name) {
    return std::max(lowest_[as_index(name)], align_up(last.offset, block(name).alignment));
  };
  for (const Name name : open) {
    Bytes& place = place_[as_index(name)];
    place = lowest_place(name);
    if (!passed_over(name, last)) continue;
    Bytes support = kNowhere;
    for (const Name other : beside_[as_index(name)]) {
      if (placed_[as_index(other)] == 0) support = std::min(support, lowest_place(other) + block(other).bytes);
    }
    looks_ += std::ssize(beside_[as_index(name)]);
    if (support == kNowhere) return false;
    place = std::max(place, align_up(support, block(name).alignment));
  }
  return true;
}

bool OffsetTree::stack_sections(std::span<const Name> open) {
  for (const Name name : open) {
    for (const Interval<Section>& range : block(name).sections) {
      std::fill(sections_.begin() + range.begin, sections_.begin() + range.end, SectionState{kNowhere, 0, kNowhere});
    }
  }
  for (const Name name : open) {
    const Bytes place = place_[as_index(name)];
    const Bytes bytes = block(name).bytes;
    looks_ += block(name).length + 1;
    if (place > capacity_ - bytes) {
      blame(name);
      return false;
    }
    for (const Interval<Section>& range : block(name).sections) {
      for (Section s = range.begin; s < range.end; ++s) {
        SectionState& section = sections_[as_index(s)];
        section.floor = std::min(section.floor, place);
        section.open += bytes;
      }
    }
  }
  const auto full = [this](Section s) {
    return sections_[as_index(s)].floor > capacity_ - sections_[as_index(s)].open;
  };
  for (const Name first : open) {
    for (const Interval<Section>& range : block(first).sections) {
      for (Section s = range.begin; s < range.end; ++s) {
        if (!full(s)) continue;
        for (const Name name : open) {
          const bool there =
              std::ranges::any_of(block(name).sections, [s](const auto& each) { return each.contains(s); });
          if (there) blame(name);
        }
        return false;
      }
    }
  }
  return true;
}

// Only a block at most so high that all others of the section find room above it can be the lowest there.
bool OffsetTree::lift_off_bottoms(std::span<const Name> open) {
  const auto highest_bottom = [this](const SectionState& section) { return capacity_ - section.open; };
  for (const Name name : open) {
    const Bytes place = place_[as_index(name)];
    for (const Interval<Section>& range : block(name).sections) {
      for (Section s = range.begin; s < range.end; ++s) {
        SectionState& section = sections_[as_index(s)];
        if (place <= highest_bottom(section)) {
          section.bottom_top = std::min(section.bottom_top, place + block(name).bytes);
        }
      }
    }
  }
  for (const Name name : open) {
    Bytes place = place_[as_index(name)];
    for (const Interval<Section>& range : block(name).sections) {
      for (Section s = range.begin; s < range.end; ++s) {
        const SectionState& section = sections_[as_index(s)];
        if (place > highest_bottom(section)) place = std::max(place, section.bottom_top);
      }
    }
    place_[as_index(name)] = align_up(place, block(name).alignment);
  }
  return true;
}

bool OffsetTree::passed_over(Name name, Last last) const {
  const Bytes lowest = lowest_[as_index(name)];
  return lowest < last.offset || (lowest == last.offset && ranks_[as_index(name)] < last.rank);
}

bool OffsetTree::elder_is_open(Name name) const {
  const Name elder = elder_[as_index(name)];
  return elder >= 0 && placed_[as_index(elder)] == 0;
}

bool OffsetTree::out_of_patience() {
  if (++nodes_ > limits_->nodes) ended_ = Outcome::kOutOfNodes;
  if (looks_ >= limits_->looks) ended_ = Outcome::kOutOfLooks;
  if (limits_->stop && looks_ >= next_stop_) {
    next_stop_ = looks_ + kLooksBetweenStops;
    if (limits_->stop()) ended_ = Outcome::kStopped;
  }
  return ended_ != Outcome::kExhausted;
}

}  // namespace sluice::memory
