#include "sluice/exec/access_recorder.hpp"

#include <algorithm>

#include "sluice/plan/plan.hpp"

namespace sluice {
Result<std::unique_ptr<AccessRecorder>> AccessRecorder::create(const Graph& graph, const Program& program,
                                                               Bytes tlb_reach, Bytes largest_chunk, int threads) {
  OperandPlaces places = find_operand_places(graph, program);
  std::size_t most_operands = 1;
  for (const auto& operands : places.ops) most_operands = std::max(most_operands, operands.size());
  SLUICE_ASSIGN(
      std::unique_ptr<PageTracker> tracker,
      PageTracker::start(
          {.reach = tlb_reach, .threads = threads, .most_ranges = places.stays, .most_watched = most_operands}));
  return std::unique_ptr<AccessRecorder>(
      new AccessRecorder(graph, std::move(places), largest_chunk, std::move(tracker)));
}

AccessRecorder::AccessRecorder(const Graph& graph, OperandPlaces places, Bytes largest_chunk,
                               std::unique_ptr<PageTracker> tracker)
    : graph_(graph),
      places_(std::move(places)),
      largest_chunk_(largest_chunk),
      tracker_(std::move(tracker)),
      ranges_(places_.stays) {
  for (const auto& operands : places_.ops) {
    auto& touches = counts_.emplace_back();
    for (const OperandPlace& operand : operands) touches.push_back({.tensor = operand.tensor});
  }
}

Result<PageTracker::RangeId> AccessRecorder::range_of(const OperandPlace& place, void* begin) {
  std::optional<PageTracker::RangeId>& range = ranges_[place.stay];
  if (!range) {
    const Bytes bytes = stored_bytes(graph_.tensor(place.tensor));
    SLUICE_ASSIGN(range, tracker_->add_range(static_cast<std::byte*>(begin), bytes,
                                             PageTracker::chunk_of(bytes, largest_chunk_)));
  }
  return *range;
}

Status AccessRecorder::before_op(OpIndex op, std::span<void* const> operands) {
  watched_.clear();
  const bool by_system_calls = graph_.op(op).kind == OpKind::kInput;
  for (const OperandPlace& place : places_.ops[static_cast<std::size_t>(op)]) {
    SLUICE_ASSIGN(const PageTracker::RangeId range, range_of(place, operands[place.operand]));
    if (by_system_calls) {
      tracker_->count_written(range);
    } else if (const Status watching = tracker_->watch(range); !watching.ok()) {
      for (const PageTracker::RangeId earlier : watched_) tracker_->unwatch(earlier);
      return watching.error();
    }
    watched_.push_back(range);
  }
  return {};
}

void AccessRecorder::after_op(OpIndex op) {
  auto& touches = counts_[static_cast<std::size_t>(op)];
  const bool by_system_calls = graph_.op(op).kind == OpKind::kInput;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if (!by_system_calls) tracker_->unwatch(watched_[i]);
    const PageTouches counted = tracker_->take_counts(watched_[i]);
    touches[i].reads += counted.reads;
    touches[i].writes += counted.writes;
  }
}

}  // namespace sluice
