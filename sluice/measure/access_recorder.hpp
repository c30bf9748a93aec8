// Counts, op by op, how often the pages of every operand are touched in main memory: an OpObserver that watches an op's
// operands with a PageTracker while the op runs.
//
// Counts belong to (op, tensor), so tensors may share arena offsets over time. Between ops nothing is protected: system
// calls, transfers and the next op's data may use the memory as ever. The software TLB keeps what it holds from op to
// op, until a tensor moves. The input op reads files into its outputs (system calls cannot write protected memory), so
// it counts as one write of each page of its outputs.
//
// A page that several small operands share counts for each of them: its reads for those that the op reads, its writes
// for those that it writes. Large tensors are tracked in chunks of at most `largest_chunk` (PageTracker::chunk_of),
// small ones page by page.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sluice/exec/op_observer.hpp"
#include "sluice/exec/operand_places.hpp"
#include "sluice/memory/observe/page_tracker.hpp"
#include "sluice/profile/access_profile.hpp"

namespace sluice::measure {

class AccessRecorder final : public exec::OpObserver {
 public:
  // Starts the tracker. Gives this thread, and the compute threads that it leads, stacks for faults until the recorder
  // is destroyed on the same thread. `graph` outlives the recorder; errors are PageTracker::start()'s.
  static Result<std::unique_ptr<AccessRecorder>> create(const graph::Graph& graph, const program::Program& program,
                                                        Bytes tlb_reach, Bytes largest_chunk, int threads);

  ~AccessRecorder() override;

  Status before_op(graph::OpIndex op, std::span<void* const> operands) override;
  void after_op(graph::OpIndex op) override;

  // Of the ops seen so far, by OpIndex; a repeated step adds to it.
  const std::vector<std::vector<profile::TensorTouches>>& counts() const { return counts_; }

  Bytes table_bytes() const { return tracker_->table_bytes(); }
  bool complete() const { return tracker_->complete(); }

 private:
  AccessRecorder(const graph::Graph& graph, exec::OperandPlaces places, Bytes largest_chunk, int threads,
                 std::unique_ptr<memory::PageTracker> tracker);
  Result<memory::PageTracker::RangeId> range_of(const exec::WatchedPlace& place, void* operand);

  const graph::Graph& graph_;
  exec::OperandPlaces places_;
  Bytes largest_chunk_;
  int threads_;
  std::unique_ptr<memory::PageTracker> tracker_;
  std::vector<std::optional<memory::PageTracker::RangeId>> ranges_;  // by stay
  std::vector<memory::PageTracker::RangeId> watched_;  // of the running op, in the order of its watched places
  std::vector<std::vector<profile::TensorTouches>> counts_;
};

}  // namespace sluice::measure
