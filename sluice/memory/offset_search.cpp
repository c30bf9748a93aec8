#include "sluice/memory/offset_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice {
namespace {

using Time = std::int32_t;
using Section = std::int32_t;
using Name = std::int32_t;  // of a block: its place in the order of trial

constexpr std::int64_t kFirstPatience = 2'000'000;
constexpr std::int64_t kLooksBetweenStops = 300'000;
constexpr Bytes kNowhere = std::numeric_limits<Bytes>::max();

// An item that takes room.
struct SearchedBlock {
  std::size_t item = 0;
  Bytes bytes = 0;
  Bytes alignment = 1;
  std::vector<Interval<Section>> sections;  // in which it is live, ascending
  Section length = 0;                       // their number
  Bytes busiest = 0;                        // most bytes live at any of its moments

  Interval<Section> span() const { return {sections.front().begin, sections.back().end}; }
  bool alike(const SearchedBlock& other) const {
    return bytes == other.bytes && alignment == other.alignment && sections == other.sections;
  }
};

bool live_together(const SearchedBlock& a, const SearchedBlock& b) {
  if (!a.span().overlaps(b.span())) return false;
  return std::ranges::any_of(a.sections, [&](const Interval<Section>& mine) {
    return std::ranges::any_of(b.sections, [&](const Interval<Section>& theirs) { return mine.overlaps(theirs); });
  });
}

std::vector<Time> moments_of(std::span<const OffsetItem> items) {
  std::vector<Time> moments;
  for (const OffsetItem& item : items) {
    for (const Interval<Time>& live : item.live) moments.insert(moments.end(), {live.begin, live.end});
  }
  std::ranges::sort(moments);
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  return moments;
}

std::vector<SearchedBlock> blocks_of(std::span<const OffsetItem> items) {
  const std::vector<Time> moments = moments_of(items);
  const auto section_at = [&](Time time) {
    return static_cast<Section>(std::ranges::lower_bound(moments, time) - moments.begin());
  };
  std::vector<SearchedBlock> blocks;
  std::vector<Bytes> busy(moments.size(), 0);
  for (std::size_t i = 0; i < items.size(); ++i) {
    SLUICE_CHECK(!items[i].fixed_offset, "the search places every item by itself");
    if (items[i].bytes == 0 || items[i].live.empty()) continue;
    SearchedBlock block{i, align_up(items[i].bytes, items[i].alignment), items[i].alignment, {}, 0, 0};
    for (const Interval<Time>& live : items[i].live) {
      block.sections.push_back({section_at(live.begin), section_at(live.end)});
      block.length += block.sections.back().length();
    }
    std::ranges::sort(block.sections);
    for (const auto& range : block.sections) {
      for (Section s = range.begin; s < range.end; ++s) busy[as_index(s)] += block.bytes;
    }
    blocks.push_back(std::move(block));
  }
  for (SearchedBlock& block : blocks) {
    for (const auto& range : block.sections) {
      for (Section s = range.begin; s < range.end; ++s) block.busiest = std::max(block.busiest, busy[as_index(s)]);
    }
  }
  return blocks;
}

// Sorting keys of the three orders: what comes first is tried first.
using TrialKey = std::tuple<double, double, double>;
using TrialKeyOf = TrialKey (*)(const SearchedBlock&);

double area_of(const SearchedBlock& block) { return static_cast<double>(block.bytes) * block.length; }
TrialKey by_length(const SearchedBlock& block) {
  return {-block.length, -area_of(block), -static_cast<double>(block.busiest)};
}
TrialKey by_traffic_then_area(const SearchedBlock& block) {
  return {-static_cast<double>(block.busiest), -area_of(block), -block.length};
}
TrialKey by_traffic_then_length(const SearchedBlock& block) {
  return {-static_cast<double>(block.busiest), -block.length, -area_of(block)};
}

constexpr std::array<TrialKeyOf, 3> kTrialOrders{by_length, by_traffic_then_area, by_traffic_then_length};

// The search in one order of trial. Blocks are named by their place in it.
class OffsetSearch {
 public:
  OffsetSearch(std::vector<SearchedBlock> blocks, Bytes capacity, TrialKeyOf key_of)
      : blocks_(std::move(blocks)), capacity_(capacity), lowest_(blocks_.size(), 0), offsets_(blocks_.size(), 0) {
    std::ranges::stable_sort(blocks_, {}, key_of);
    Section sections = 0;
    for (const SearchedBlock& block : blocks_) sections = std::max(sections, block.span().end);
    floor_.resize(as_index(sections));
    total_.resize(as_index(sections));
    beside_.resize(blocks_.size());
    elder_.resize(blocks_.size(), -1);
    for (std::size_t a = 0; a < blocks_.size(); ++a) {
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        if (a != b && live_together(blocks_[a], blocks_[b])) beside_[a].push_back(static_cast<Name>(b));
        if (b < a && blocks_[a].alike(blocks_[b])) elder_[a] = static_cast<Name>(b);
      }
    }
  }

  SearchVerdict run(std::int64_t patience, const std::function<bool()>& stop) {
    patience_ = patience;
    looks_ = 0;
    gave_up_ = false;
    stop_ = &stop;
    std::ranges::fill(lowest_, 0);
    trail_.clear();
    placed_.assign(blocks_.size(), false);
    std::vector<Name> all(blocks_.size());
    std::iota(all.begin(), all.end(), 0);
    std::ranges::stable_sort(all, {}, [this](Name name) { return block(name).span().begin; });
    if (solve(all, {0, -1})) return SearchVerdict::kFound;
    return gave_up_ ? SearchVerdict::kGaveUp : SearchVerdict::kImpossible;
  }

  void write_offsets(std::vector<Bytes>& offsets) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) offsets[blocks_[i].item] = offsets_[i];
  }
  std::int64_t placed() const { return times_placed_; }
  std::int64_t looks() const { return looks_; }
  bool stopped() const { return stopped_; }

 private:
  // Where the block named last was put, and its name: the next one is named behind it.
  struct Last {
    Bytes offset;
    Name name;
  };

  struct Candidate {
    Bytes offset;
    Name name;
    auto operator<=>(const Candidate&) const = default;
  };

  struct Change {
    Name name;
    Bytes lowest_before;  // kNowhere: it was placed
  };

  // Places all of `open`, which begin one after the other, problem by problem.
  bool solve(const std::vector<Name>& open, Last last) {
    std::vector<Name> problem;
    Section end = 0;
    for (const Name name : open) {
      if (!problem.empty() && block(name).span().begin >= end) {
        if (!solve_connected(problem, last)) return false;
        problem.clear();
      }
      problem.push_back(name);
      end = std::max(end, block(name).span().end);
    }
    return problem.empty() || solve_connected(problem, last);
  }

  bool solve_connected(const std::vector<Name>& open, Last last) {
    if (out_of_patience()) return false;
    Bytes lowest_top = kNowhere;
    if (!has_room(open, last, lowest_top)) return false;
    std::vector<Candidate> candidates;
    for (const Name name : open) {
      const Bytes offset = place_of(name, last);
      const bool in_order = offset > last.offset || name > last.name;
      if (in_order && offset < lowest_top && !elder_is_open(name)) candidates.push_back({offset, name});
    }
    std::ranges::sort(candidates);
    for (const Candidate& next : candidates) {
      if (try_next(open, next)) return true;
      if (gave_up_) return false;
    }
    return false;
  }

  bool try_next(const std::vector<Name>& open, const Candidate& next) {
    const std::size_t trail = trail_.size();
    place(next);
    std::vector<Name> rest;
    rest.reserve(open.size());
    std::ranges::copy_if(open, std::back_inserter(rest), [&](Name name) { return name != next.name; });
    if (solve(rest, {next.offset, next.name})) return true;
    take_back(trail);
    return false;
  }

  void place(const Candidate& next) {
    ++times_placed_;
    trail_.push_back({next.name, kNowhere});
    placed_[as_index(next.name)] = true;
    offsets_[as_index(next.name)] = next.offset;
    const Bytes top = next.offset + block(next.name).bytes;
    for (const Name other : beside_[as_index(next.name)]) {
      Bytes& lowest = lowest_[as_index(other)];
      if (placed_[as_index(other)] || lowest >= top) continue;
      trail_.push_back({other, lowest});
      lowest = align_up(top, block(other).alignment);
    }
  }

  // Undoes all that was done since the trail was so long: of problems that were solved beside a hopeless one, too.
  void take_back(std::size_t length) {
    for (; trail_.size() > length; trail_.pop_back()) {
      const Change& change = trail_.back();
      if (change.lowest_before == kNowhere) {
        placed_[as_index(change.name)] = false;
      } else {
        lowest_[as_index(change.name)] = change.lowest_before;
      }
    }
  }

  // Whether every section can still hold its open blocks. Finds the lowest top that an open block may come to.
  bool has_room(const std::vector<Name>& open, Last last, Bytes& lowest_top) {
    Interval<Section> all{std::numeric_limits<Section>::max(), 0};
    for (const Name name : open) {
      const Interval<Section> span = block(name).span();
      all = {std::min(all.begin, span.begin), std::max(all.end, span.end)};
    }
    std::fill(floor_.begin() + all.begin, floor_.begin() + all.end, kNowhere);
    std::fill(total_.begin() + all.begin, total_.begin() + all.end, 0);
    for (const Name name : open) {
      const Bytes offset = place_of(name, last);
      const Bytes bytes = block(name).bytes;
      if (offset + bytes > capacity_) return false;
      lowest_top = std::min(lowest_top, offset + bytes);
      for (const Interval<Section>& range : block(name).sections) {
        for (Section s = range.begin; s < range.end; ++s) {
          floor_[as_index(s)] = std::min(floor_[as_index(s)], offset);
          total_[as_index(s)] += bytes;
        }
      }
      looks_ += block(name).length + 1;
    }
    for (Section s = all.begin; s < all.end; ++s) {
      if (total_[as_index(s)] > 0 && floor_[as_index(s)] + total_[as_index(s)] > capacity_) return false;
    }
    return true;
  }

  Bytes place_of(Name name, Last last) const {
    return std::max(lowest_[as_index(name)], align_up(last.offset, block(name).alignment));
  }

  bool elder_is_open(Name name) const {
    const Name elder = elder_[as_index(name)];
    return elder >= 0 && !placed_[as_index(elder)];
  }

  bool out_of_patience() {
    if (looks_ >= patience_) gave_up_ = true;
    if (*stop_ && looks_ >= next_stop_) {
      next_stop_ = looks_ + kLooksBetweenStops;
      if ((*stop_)()) gave_up_ = stopped_ = true;
    }
    return gave_up_;
  }

  const SearchedBlock& block(Name name) const { return blocks_[as_index(name)]; }

  std::vector<SearchedBlock> blocks_;
  Bytes capacity_;
  std::vector<std::vector<Name>> beside_;  // live together with each
  std::vector<Name> elder_;                // the last one alike and named before; -1: none
  std::vector<Bytes> lowest_;              // above all that is placed beside it
  std::vector<Bytes> offsets_;
  std::vector<bool> placed_;
  std::vector<Change> trail_;
  std::vector<Bytes> floor_;  // scratch, by section: the lowest place of an open block
  std::vector<Bytes> total_;  // scratch, by section: bytes of the open blocks
  std::int64_t patience_ = 0;
  std::int64_t looks_ = 0;
  std::int64_t next_stop_ = 0;
  std::int64_t times_placed_ = 0;
  const std::function<bool()>* stop_ = nullptr;
  bool gave_up_ = false;
  bool stopped_ = false;
};

}  // namespace

SearchResult search_offsets(std::span<const OffsetItem> items, Bytes capacity, const SearchLimit& limit) {
  const std::vector<SearchedBlock> blocks = blocks_of(items);
  std::vector<OffsetSearch> searches;
  for (const TrialKeyOf key_of : kTrialOrders) searches.emplace_back(blocks, capacity, key_of);
  const std::int64_t effort = limit.effort > 0 ? limit.effort : std::numeric_limits<std::int64_t>::max();
  SearchResult result;
  std::int64_t spent = 0;
  for (std::int64_t patience = kFirstPatience; spent < effort; patience *= 2) {
    for (OffsetSearch& search : searches) {
      const std::int64_t before = search.placed();
      result.verdict = search.run(std::min(patience, effort - spent), limit.stop);
      result.placed += search.placed() - before;
      spent += search.looks();
      if (result.verdict == SearchVerdict::kFound) {
        result.offsets.assign(items.size(), 0);
        search.write_offsets(result.offsets);
      }
      if (result.verdict != SearchVerdict::kGaveUp || search.stopped() || spent >= effort) return result;
    }
  }
  return result;
}

}  // namespace sluice
