#include "sluice/policies/memory_mode.hpp"

#include <algorithm>

#include "sluice/policies/policy.hpp"

namespace sluice::policies {

MemoryMode::MemoryMode(const PolicyMemory& memory, const PolicyTuning& tuning)
    : line_bytes_(tuning.page_bytes), sets_(memory.fast_bytes() / tuning.page_bytes), runs_{{0, {}}} {}

AccessCharge MemoryMode::access(std::span<const Access> accesses, Seconds /*now*/, memory::MoveList& /*moves*/) {
  AccessCharge charge;
  SlowTraffic& slow = charge.slow_in(kSlowTier);
  for (const Access& access : accesses) {
    const Interval<std::int64_t> lines{access.bytes.begin / line_bytes_,
                                       (access.bytes.end + line_bytes_ - 1) / line_bytes_};
    const Lines counted = access_lines(lines, access.writes);
    const Bytes fetched = counted.missed * line_bytes_;
    const Bytes bytes = access.bytes.length();
    charge.add_operand(bytes, std::max<Bytes>(0, bytes - fetched));
    // What the processor's caches hold asks nothing of this one; later sweeps find what the first has fetched.
    const Bytes asked =
        access.traffic ? std::min(fetched, static_cast<Bytes>(access.traffic_of(fetched).read)) : fetched;
    (access.reads ? slow.read : slow.extra_read) += asked;
    slow.extra_written += counted.dirty_victims * line_bytes_;
    charge.filled += asked;
    if (access.writes) ops_wrote_ += bytes;
    memories_wrote_ += fetched + counted.dirty_victims * line_bytes_ + (access.writes ? bytes : 0);
  }
  return charge;
}

// A range longer than the cache goes round it, line after line: its end evicts its beginning.
MemoryMode::Lines MemoryMode::access_lines(Interval<std::int64_t> lines, bool writes) {
  Lines counted;
  for (std::int64_t line = lines.begin; line < lines.end;) {
    const std::int64_t tag = line / sets_;
    const std::int64_t end = std::min(lines.end, (tag + 1) * sets_);
    access_sets({line - tag * sets_, end - tag * sets_}, tag, writes, counted);
    line = end;
  }
  return counted;
}

void MemoryMode::access_sets(Interval<std::int64_t> sets, std::int64_t tag, bool writes, Lines& counted) {
  const auto begin = split_at(sets.begin);
  const auto end = split_at(sets.end);
  for (auto run = begin; run != end; ++run) {
    const auto next = std::next(run);
    const std::int64_t lines = (next == runs_.end() ? sets_ : next->first) - run->first;
    Content& content = run->second;
    if (content.tag != tag) {
      counted.missed += lines;
      if (content.dirty) counted.dirty_victims += lines;
      content = {.tag = tag, .dirty = false};
    }
    content.dirty = content.dirty || writes;
  }
  for (auto run = begin; run != end;) {
    const std::int64_t set = run->first;
    ++run;
    join_at(set);
  }
  if (end != runs_.end()) join_at(end->first);
}

// The run that begins at `set`, made by cutting one in two where none does; the end for the end of the cache.
MemoryMode::Runs::iterator MemoryMode::split_at(std::int64_t set) {
  if (set == sets_) return runs_.end();
  const auto behind = runs_.upper_bound(set);
  const auto run = std::prev(behind);
  return run->first == set ? run : runs_.emplace_hint(behind, set, run->second);
}

// Makes the run at `set` part of the one before it where both hold the same.
void MemoryMode::join_at(std::int64_t set) {
  const auto run = runs_.find(set);
  if (run != runs_.begin() && std::prev(run)->second == run->second) runs_.erase(run);
}

std::vector<std::pair<std::string, double>> MemoryMode::figures() const {
  if (ops_wrote_ == 0) return {};
  return {{"write amplification", static_cast<double>(memories_wrote_) / static_cast<double>(ops_wrote_)}};
}

PolicyEntry memory_mode_policy() {
  return {"memory-mode", "fast memory as a direct-mapped hardware cache of 64-byte lines",
          PagePolicy{.in_hardware = true,
                     .defaults = {.page_bytes = 64},
                     .make = [](const PolicyMemory& memory, const PolicyTuning& tuning) {
                       return std::make_unique<MemoryMode>(memory, tuning);
                     }}};
}

}  // namespace sluice::policies
