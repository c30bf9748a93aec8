#include "sluice/program/hazard_tracker.hpp"

#include <algorithm>
#include <iterator>

#include "sluice/base/as_index.hpp"

namespace sluice::program {
namespace {

ProcessorId last_processor(const graph::Graph& graph) {
  ProcessorId last = kMainProcessor;
  for (const graph::Op& op : graph.ops()) last = std::max(last, op.processor);
  return last;
}

}  // namespace

HazardTracker::HazardTracker(const graph::Graph& graph, std::size_t tier_count, std::size_t transfer_count)
    : graph_(graph), tiers_(tier_count), waits_(transfer_count), mark_(transfer_count, 0) {
  const std::size_t processors = as_index(last_processor(graph)) + 1;
  known_.assign(processors, {std::vector<graph::OpIndex>(transfer_count, kNever), LastOps(processors, -1)});
  if (!several()) return;
  op_knows_.resize(graph.ops().size());
  transfer_knows_.resize(transfer_count);
}

Waits HazardTracker::enter_op(graph::OpIndex op, const std::vector<Access>& accesses) {
  Waits found;
  for (const Access& access : accesses) collect(access, found);
  for (const Access& access : accesses) {
    if (several() && !access.writes) record_read(access, {.op = op});
  }
  for (const Access& access : accesses) {
    if (access.writes) record_write(access, {.op = op});
  }
  Known& known = known_[as_index(processor_of(op))];
  const Waits waits = needed(found, &known);
  settle(waits, op, known);
  if (!several()) return waits;
  known.ops = learned(waits, &known);
  known.ops[as_index(processor_of(op))] = op;
  op_knows_[as_index(op)] = known.ops;
  return waits;
}

Waits HazardTracker::enter_transfer(TransferIndex transfer, graph::OpIndex after_op,
                                    const std::vector<Access>& accesses) {
  Waits found;
  for (const Access& access : accesses) collect(access, found);
  for (const Access& access : accesses) {
    access.writes ? record_write(access, {.transfer = transfer}) : record_read(access, {.transfer = transfer});
  }
  const Known* known = after_op == plan::kStepStart ? nullptr : &known_[as_index(processor_of(after_op))];
  Waits waits = needed(found, known);
  waits_[as_index(transfer)] = waits.transfers;
  if (several()) transfer_knows_[as_index(transfer)] = learned(waits, known);
  return waits;
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

void HazardTracker::collect(const Access& access, Waits& found) {
  Segments& segments = tiers_[as_index(access.tier)];
  auto segment = segments.upper_bound(access.bytes.begin);
  if (segment != segments.begin()) --segment;
  for (; segment != segments.end() && segment->first < access.bytes.end; ++segment) {
    const Segment& touched = segment->second;
    if (touched.end <= access.bytes.begin) continue;
    // Read after write, write after write; for a write also write after read.
    if (touched.writer.transfer >= 0) found.transfers.push_back(touched.writer.transfer);
    if (touched.writer.op >= 0) found.ops.push_back(touched.writer.op);
    if (!access.writes) continue;
    found.transfers.insert(found.transfers.end(), touched.readers.begin(), touched.readers.end());
    found.ops.insert(found.ops.end(), touched.op_readers.begin(), touched.op_readers.end());
  }
}

void HazardTracker::record_read(const Access& access, Toucher reader) {
  if (access.bytes.empty()) return;
  Segments& segments = tiers_[as_index(access.tier)];
  split(segments, access.bytes.begin);
  split(segments, access.bytes.end);
  Bytes position = access.bytes.begin;
  for (auto next = segments.lower_bound(position); position < access.bytes.end;) {
    if (next == segments.end() || next->first > position) {  // a gap: bytes that nobody has touched
      const Bytes gap_end = next == segments.end() ? access.bytes.end : std::min(next->first, access.bytes.end);
      next = segments.emplace_hint(next, position, Segment{gap_end, {}, {}, {}});
    }
    add_reader(next->second, reader);
    position = next->second.end;
    ++next;
  }
}

void HazardTracker::add_reader(Segment& segment, Toucher reader) const {
  if (reader.op >= 0) {
    std::erase_if(segment.op_readers, [&](graph::OpIndex op) { return processor_of(op) == processor_of(reader.op); });
    segment.op_readers.push_back(reader.op);
    return;
  }
  std::erase_if(segment.readers, [&](TransferIndex earlier) {
    return std::ranges::all_of(known_, [&](const Known& known) { return known.settled(earlier); });
  });
  segment.readers.push_back(reader.transfer);
}

// With one processor an op's write leaves nothing to wait for: whoever comes later comes after the op itself.
void HazardTracker::record_write(const Access& access, Toucher writer) {
  if (access.bytes.empty()) return;
  Segments& segments = tiers_[as_index(access.tier)];
  split(segments, access.bytes.begin);
  split(segments, access.bytes.end);
  segments.erase(segments.lower_bound(access.bytes.begin), segments.lower_bound(access.bytes.end));
  if (writer.transfer < 0 && !several()) return;
  segments.emplace(access.bytes.begin, Segment{access.bytes.end, writer, {}, {}});
}

// `known`: to the processor that the waiting comes after; nullptr at the start of a step.
Waits HazardTracker::needed(const Waits& found, const Known* known) {
  Waits waits{without_implied(found.transfers, known), {}};
  if (!several()) return waits;
  waits.ops = without_known(found.ops, known);
  drop_known_by_each_other(waits);
  return waits;
}

// Ascending, each once, without those settled and those that another one waits for anyway.
std::vector<TransferIndex> HazardTracker::without_implied(std::vector<TransferIndex> found, const Known* known) {
  if (known != nullptr) std::erase_if(found, [&](TransferIndex each) { return known->settled(each); });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() < 2) return found;
  ++round_;
  for (const TransferIndex transfer : found) mark_waits_of(transfer, known);
  std::erase_if(found, [&](TransferIndex transfer) { return mark_[as_index(transfer)] == round_; });
  return found;
}

// Marks all that this transfer waits for, and what these wait for, as implied in this round.
void HazardTracker::mark_waits_of(TransferIndex transfer, const Known* known) {
  std::vector<TransferIndex> stack = waits_[as_index(transfer)];
  while (!stack.empty()) {
    const TransferIndex next = stack.back();
    stack.pop_back();
    if ((known != nullptr && known->settled(next)) || mark_[as_index(next)] == round_) continue;
    mark_[as_index(next)] = round_;
    stack.insert(stack.end(), waits_[as_index(next)].begin(), waits_[as_index(next)].end());
  }
}

// The last of each processor, if it is not known to be done. (What the own processor has run is.)
std::vector<graph::OpIndex> HazardTracker::without_known(const std::vector<graph::OpIndex>& found,
                                                         const Known* known) const {
  LastOps last(known_.size(), -1);
  for (const graph::OpIndex op : found)
    last[as_index(processor_of(op))] = std::max(last[as_index(processor_of(op))], op);
  std::vector<graph::OpIndex> waits;
  for (std::size_t processor = 0; processor < last.size(); ++processor) {
    if (last[processor] > (known == nullptr ? -1 : known->ops[processor])) waits.push_back(last[processor]);
  }
  return waits;
}

void HazardTracker::drop_known_by_each_other(Waits& waits) const {
  const Waits all = waits;
  std::erase_if(waits.transfers, [&](TransferIndex transfer) {
    return std::ranges::any_of(all.ops, [&](graph::OpIndex op) {
      return known_[as_index(processor_of(op))].settled_by[as_index(transfer)] <= op;
    });
  });
  std::erase_if(waits.ops, [&](graph::OpIndex op) {
    const auto knows = [&](const LastOps& last) { return last[as_index(processor_of(op))] >= op; };
    return std::ranges::any_of(
               all.ops, [&](graph::OpIndex other) { return other != op && knows(op_knows_[as_index(other)]); }) ||
           std::ranges::any_of(all.transfers,
                               [&](TransferIndex each) { return knows(transfer_knows_[as_index(each)]); });
  });
}

HazardTracker::LastOps HazardTracker::learned(const Waits& waits, const Known* known) const {
  LastOps result = known == nullptr ? LastOps(known_.size(), -1) : known->ops;
  const auto add = [&](const LastOps& more) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], more[i]);
  };
  for (const graph::OpIndex op : waits.ops) add(op_knows_[as_index(op)]);
  for (const TransferIndex transfer : waits.transfers) add(transfer_knows_[as_index(transfer)]);
  return result;
}

// Who has waited for a transfer knows that all it waited for is done too; who has waited for an op, what was settled
// for that op.
void HazardTracker::settle(const Waits& waits, graph::OpIndex by, Known& known) {
  std::vector<TransferIndex> stack = waits.transfers;
  for (const graph::OpIndex op : waits.ops) {
    const std::vector<graph::OpIndex>& there = known_[as_index(processor_of(op))].settled_by;
    for (std::size_t i = 0; i < there.size(); ++i) {
      if (there[i] <= op) stack.push_back(as_id<TransferIndex>(i));
    }
  }
  while (!stack.empty()) {
    const TransferIndex next = stack.back();
    stack.pop_back();
    if (known.settled(next)) continue;
    known.settled_by[as_index(next)] = by;
    stack.insert(stack.end(), waits_[as_index(next)].begin(), waits_[as_index(next)].end());
  }
}

}  // namespace sluice::program
