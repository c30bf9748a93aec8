// Which earlier transfers an access to memory must wait for, found by the bytes it touches; private to program/.
//
// Accesses are entered in plan order. Per tier, an ordered map cuts the touched bytes into segments that remember the
// transfer that wrote them last and the transfers that have read them since:
//
//   bytes    0        4096               12288        16384
//            |  (none) | written by t3    | written by t3 |
//            |         | read by t5, t7   |               |
//
//   a read waits for the writer (RAW); a write waits for the writer (WAW) and the readers (WAR).
//
// Ops run in order, and a transfer starts only after the op it is issued after; so only transfers need to be
// remembered. Once an op has waited for a transfer, that transfer is settled: no later entry has to wait for it. Waits
// that follow from other waits are left out. Cost: logarithmic in the segments, plus the segments touched.
#pragma once

#include <map>
#include <vector>

#include "sluice/base/interval.hpp"
#include "sluice/program/program.hpp"

namespace sluice {

class HazardTracker {
 public:
  HazardTracker(std::size_t tier_count, std::size_t transfer_count)
      : tiers_(tier_count), waits_(transfer_count), settled_(transfer_count, false), mark_(transfer_count, 0) {}

  struct Access {
    TierId tier = 0;
    Interval<Bytes> bytes;
    bool writes = false;
  };

  // The transfers an op with these accesses must wait for, ascending. They are settled afterwards.
  std::vector<TransferIndex> enter_op(const std::vector<Access>& accesses);
  // The same for a transfer, which must be entered in ascending index.
  std::vector<TransferIndex> enter_transfer(TransferIndex transfer, const Access& source, const Access& destination);

 private:
  struct Segment {
    Bytes end = 0;
    TransferIndex writer = -1;
    std::vector<TransferIndex> readers;
  };
  using Segments = std::map<Bytes, Segment>;  // by first byte, disjoint

  void split(Segments& segments, Bytes position);
  void collect(const Access& access, std::vector<TransferIndex>& found);
  void record_read(const Access& access, TransferIndex transfer);
  void record_write(const Access& access, TransferIndex transfer);
  std::vector<TransferIndex> without_implied(std::vector<TransferIndex> found);
  void mark_waits_of(TransferIndex transfer);
  void settle(const std::vector<TransferIndex>& transfers);

  std::vector<Segments> tiers_;
  std::vector<std::vector<TransferIndex>> waits_;  // by TransferIndex
  std::vector<bool> settled_;                      // by TransferIndex
  std::vector<int> mark_;                          // by TransferIndex: last round in which it was reached
  int round_ = 0;
};

}  // namespace sluice
