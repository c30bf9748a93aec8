// Which earlier transfers and ops an access to memory must wait for, found by the bytes it touches; private to
// program/.
//
// Accesses are entered in plan order. Per tier, an ordered map cuts the touched bytes into segments that remember who
// wrote them last and who has read them since:
//
//   bytes    0        4096               12288        16384
//            |  (none) | written by t3    | written by t3 |
//            |         | read by t5, t7   |               |
//
//   a read waits for the writer (RAW); a write waits for the writer (WAW) and the readers (WAR).
//
// Each processor runs its ops in order, and a transfer starts only after the op it is issued after. So ops need to be
// remembered only where there are several processors, and only the last one of each that read a segment. Once an op has
// waited for a transfer, that transfer is settled for its processor: nothing that comes later there has to wait for it.
// Who waits for an op of another processor knows all that this op knew. Waits that follow from others are left out.
// Cost: logarithmic in the segments, plus the segments touched; with several processors also the transfers, for each
// wait across.
#pragma once

#include <limits>
#include <map>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/program/program.hpp"

namespace sluice::program {

struct Waits {
  std::vector<TransferIndex> transfers;  // ascending
  std::vector<graph::OpIndex> ops;       // of other processors, at most one of each
};

class HazardTracker {
 public:
  // `graph`: whose ops are entered; they say on which processor they run.
  HazardTracker(const graph::Graph& graph, std::size_t tier_count, std::size_t transfer_count);

  struct Access {
    memory::TierId tier = 0;
    Interval<Bytes> bytes;
    bool writes = false;
  };

  // What an op with these accesses must wait for. Ops are entered in ascending order.
  Waits enter_op(graph::OpIndex op, const std::vector<Access>& accesses);
  // The same for a transfer that is issued after op `after_op`; these are entered in ascending index.
  Waits enter_transfer(TransferIndex transfer, graph::OpIndex after_op, const std::vector<Access>& accesses);

 private:
  // Whoever touches a segment: one of the two.
  struct Toucher {
    TransferIndex transfer = -1;
    graph::OpIndex op = -1;
  };
  struct Segment {
    Bytes end = 0;
    Toucher writer;
    std::vector<TransferIndex> readers;
    std::vector<graph::OpIndex> op_readers;  // the last one of each processor
  };
  using Segments = std::map<Bytes, Segment>;  // by first byte, disjoint

  using LastOps = std::vector<graph::OpIndex>;  // by ProcessorId: this one and those before it there; -1: none

  // What is known to be done when the next op of a processor starts.
  struct Known {
    std::vector<graph::OpIndex> settled_by;  // by TransferIndex: the first op there that came after it, or kNever
    LastOps ops;
    bool settled(TransferIndex transfer) const { return settled_by[as_index(transfer)] != kNever; }
  };
  static constexpr graph::OpIndex kNever = std::numeric_limits<graph::OpIndex>::max();

  bool several() const { return known_.size() > 1; }
  ProcessorId processor_of(graph::OpIndex op) const { return graph_.op(op).processor; }
  void split(Segments& segments, Bytes position);
  void collect(const Access& access, Waits& found);
  void record_read(const Access& access, Toucher reader);
  void add_reader(Segment& segment, Toucher reader) const;
  void record_write(const Access& access, Toucher writer);
  Waits needed(const Waits& found, const Known* known);
  std::vector<TransferIndex> without_implied(std::vector<TransferIndex> found, const Known* known);
  void mark_waits_of(TransferIndex transfer, const Known* known);
  std::vector<graph::OpIndex> without_known(const std::vector<graph::OpIndex>& found, const Known* known) const;
  void drop_known_by_each_other(Waits& waits) const;
  LastOps learned(const Waits& waits, const Known* known) const;
  void settle(const Waits& waits, graph::OpIndex by, Known& known);

  const graph::Graph& graph_;
  std::vector<Segments> tiers_;
  std::vector<std::vector<TransferIndex>> waits_;  // by TransferIndex
  std::vector<Known> known_;                       // by ProcessorId
  // Where there are several processors: what is done when an op, or a transfer, is.
  std::vector<LastOps> op_knows_;
  std::vector<LastOps> transfer_knows_;
  std::vector<int> mark_;  // by TransferIndex: last round in which it was reached
  int round_ = 0;
};

}  // namespace sluice::program
