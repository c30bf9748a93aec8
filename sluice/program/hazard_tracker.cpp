#include "sluice/program/hazard_tracker.hpp"

#include <algorithm>
#include <iterator>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {}  // namespace

std::vector<TransferIndex> HazardTracker::enter_op(const std::vector<Access>& accesses) {
  std::vector<TransferIndex> found;
  for (const Access& access : accesses) collect(access, found);
  for (const Access& access : accesses) {
    if (access.writes) record_write(access, -1);
  }
  std::vector<TransferIndex> waits = without_implied(std::move(found));
  settle(waits);
  return waits;
}

std::vector<TransferIndex> HazardTracker::enter_transfer(TransferIndex transfer, const Access& source,
                                                         const Access& destination) {
  std::vector<TransferIndex> found;
  collect(source, found);
  collect(destination, found);
  record_read(source, transfer);
  record_write(destination, transfer);
  waits_[as_index(transfer)] = without_implied(std::move(found));
  return waits_[as_index(transfer)];
}

// Makes `position` a boundary, if it lies inside a segment.
void HazardTracker::split(Segments& segments, Bytes position) {
  auto next = segments.upper_bound(position);
  if (next == segments.begin()) return;
  auto& [begin, segment] = *std::prev(next);
  if (begin == position || segment.end <= position) return;
  segments.emplace_hint(next, position, segment);
  segment.end = position;
}

void HazardTracker::collect(const Access& access, std::vector<TransferIndex>& found) {
  Segments& segments = tiers_[as_index(access.tier)];
  auto segment = segments.upper_bound(access.bytes.begin);
  if (segment != segments.begin()) --segment;
  for (; segment != segments.end() && segment->first < access.bytes.end; ++segment) {
    if (segment->second.end <= access.bytes.begin) continue;
    // Read after write, write after write; for a write also write after read.
    if (segment->second.writer >= 0) found.push_back(segment->second.writer);
    if (access.writes)
      std::copy(segment->second.readers.begin(), segment->second.readers.end(), std::back_inserter(found));
  }
}

void HazardTracker::record_read(const Access& access, TransferIndex transfer) {
  if (access.bytes.empty()) return;
  Segments& segments = tiers_[as_index(access.tier)];
  split(segments, access.bytes.begin);
  split(segments, access.bytes.end);
  Bytes position = access.bytes.begin;
  for (auto next = segments.lower_bound(position); position < access.bytes.end;) {
    if (next == segments.end() || next->first > position) {  // a gap: bytes that no transfer has touched
      const Bytes gap_end = next == segments.end() ? access.bytes.end : std::min(next->first, access.bytes.end);
      next = segments.emplace_hint(next, position, Segment{gap_end, -1, {}});
    }
    std::erase_if(next->second.readers, [&](TransferIndex reader) { return settled_[as_index(reader)]; });
    next->second.readers.push_back(transfer);
    position = next->second.end;
    ++next;
  }
}

// An op's write (transfer -1) leaves nothing to wait for: the op itself has waited.
void HazardTracker::record_write(const Access& access, TransferIndex transfer) {
  if (access.bytes.empty()) return;
  Segments& segments = tiers_[as_index(access.tier)];
  split(segments, access.bytes.begin);
  split(segments, access.bytes.end);
  segments.erase(segments.lower_bound(access.bytes.begin), segments.lower_bound(access.bytes.end));
  if (transfer >= 0) segments.emplace(access.bytes.begin, Segment{access.bytes.end, transfer, {}});
}

// Ascending, each once, without those settled and those that another one waits for anyway.
std::vector<TransferIndex> HazardTracker::without_implied(std::vector<TransferIndex> found) {
  std::erase_if(found, [&](TransferIndex transfer) { return settled_[as_index(transfer)]; });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() < 2) return found;
  ++round_;
  for (const TransferIndex transfer : found) mark_waits_of(transfer);
  std::erase_if(found, [&](TransferIndex transfer) { return mark_[as_index(transfer)] == round_; });
  return found;
}

// Marks all that this transfer waits for, and what these wait for, as implied in this round.
void HazardTracker::mark_waits_of(TransferIndex transfer) {
  std::vector<TransferIndex> stack = waits_[as_index(transfer)];
  while (!stack.empty()) {
    const TransferIndex next = stack.back();
    stack.pop_back();
    if (settled_[as_index(next)] || mark_[as_index(next)] == round_) continue;
    mark_[as_index(next)] = round_;
    stack.insert(stack.end(), waits_[as_index(next)].begin(), waits_[as_index(next)].end());
  }
}

// An op that has waited for these knows that all before them are done too: nobody need wait for them again.
void HazardTracker::settle(const std::vector<TransferIndex>& transfers) {
  std::vector<TransferIndex> stack = transfers;
  while (!stack.empty()) {
    const TransferIndex next = stack.back();
    stack.pop_back();
    if (settled_[as_index(next)]) continue;
    settled_[as_index(next)] = true;
    stack.insert(stack.end(), waits_[as_index(next)].begin(), waits_[as_index(next)].end());
  }
}

}  // namespace sluice
