#include "sluice/measure/access_recorder.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/faults/fault_stack.hpp"

namespace sluice::measure {

Result<std::unique_ptr<AccessRecorder>> AccessRecorder::create(const graph::Graph& graph,
                                                               const program::Program& program, Bytes tlb_reach,
                                                               Bytes largest_chunk, int threads) {
  exec::OperandPlaces places = exec::find_operand_places(graph, program);
  std::size_t most_watched = 1;
  for (const exec::OpPlaces& op : places.ops) most_watched = std::max(most_watched, op.watched.size());
  SLUICE_ASSIGN(
      std::unique_ptr<memory::PageTracker> tracker,
      memory::PageTracker::start(
          {.reach = tlb_reach, .threads = threads, .most_ranges = places.stays, .most_watched = most_watched}));
  return std::unique_ptr<AccessRecorder>(
      new AccessRecorder(graph, std::move(places), largest_chunk, threads, std::move(tracker)));
}

AccessRecorder::AccessRecorder(const graph::Graph& graph, exec::OperandPlaces places, Bytes largest_chunk, int threads,
                               std::unique_ptr<memory::PageTracker> tracker)
    : graph_(graph),
      places_(std::move(places)),
      largest_chunk_(largest_chunk),
      threads_(threads),
      tracker_(std::move(tracker)),
      ranges_(places_.stays) {
#pragma omp parallel num_threads(threads_)
  memory::give_fault_stack();
  for (const exec::OpPlaces& op : places_.ops) {
    auto& touches = counts_.emplace_back();
    for (const exec::OperandPlace& operand : op.operands) touches.push_back({.tensor = operand.tensor});
  }
}

AccessRecorder::~AccessRecorder() {
  tracker_.reset();  // before the stacks that its handler runs on
#pragma omp parallel num_threads(threads_)
  memory::take_fault_stack();
}

Result<memory::PageTracker::RangeId> AccessRecorder::range_of(const exec::WatchedPlace& place, void* operand) {
  std::optional<memory::PageTracker::RangeId>& range = ranges_[place.stay];
  if (!range) {
    std::byte* const begin = static_cast<std::byte*>(operand) - place.before;
    SLUICE_ASSIGN(range,
                  tracker_->add_range(begin, place.bytes, memory::PageTracker::chunk_of(place.bytes, largest_chunk_)));
  }
  return *range;
}

Status AccessRecorder::before_op(graph::OpIndex op, std::span<void* const> operands) {
  watched_.clear();
  const bool by_system_calls = graph_.op(op).kind == graph::OpKind::kInput;
  for (const exec::WatchedPlace& place : places_.ops[as_index(op)].watched) {
    SLUICE_ASSIGN(const memory::PageTracker::RangeId range, range_of(place, operands[place.operand]));
    if (by_system_calls) {
      tracker_->count_written(range);
    } else if (const Status watching = tracker_->watch(range); !watching.ok()) {
      for (const memory::PageTracker::RangeId earlier : watched_) tracker_->unwatch(earlier);
      return watching.error();
    }
    watched_.push_back(range);
  }
  return {};
}

void AccessRecorder::after_op(graph::OpIndex op) {
  const exec::OpPlaces& places = places_.ops[as_index(op)];
  const bool by_system_calls = graph_.op(op).kind == graph::OpKind::kInput;
  std::vector<memory::PageTouches> counted;
  for (const memory::PageTracker::RangeId range : watched_) {
    if (!by_system_calls) tracker_->unwatch(range);
    counted.push_back(tracker_->take_counts(range));
  }
  for (std::size_t i = 0; i < places.operands.size(); ++i) {
    const exec::OperandPlace& operand = places.operands[i];
    profile::TensorTouches& touches = counts_[as_index(op)][i];
    for (const std::size_t watched : operand.watched) {
      const bool alone = places.watched[watched].sharers == 1;
      if (alone || operand.read) touches.reads += counted[watched].reads;
      if (alone || operand.written) touches.writes += counted[watched].writes;
    }
  }
}

}  // namespace sluice::measure
