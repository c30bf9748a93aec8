// When everything in one step of a Program began and ended: predicted by the simulator (then called a timeline) or
// measured by the executor (a trace). Every field means the same in both, so they can be compared entry by entry.
#pragma once

#include <vector>

#include "sluice/base/units.hpp"

namespace sluice::program {

struct Span {
  Seconds begin = 0;  // since the step's start
  Seconds end = 0;
};

struct StepTimes {
  std::vector<Span> ops;  // by OpIndex; without the wait before the op
  // By OpIndex: how long the op waited, for transfers or other processors, after the previous op of its own ended.
  std::vector<Seconds> stalls;
  std::vector<Span> transfers;  // by TransferIndex: while the lane's link served it; those of a lane do not overlap
  Seconds step_seconds = 0;     // until the last instruction is done
  // Of the main processor: sum of stalls, plus what it waits at the end of the step.
  Seconds stall_seconds = 0;
  std::vector<Bytes> link_bytes;      // by LinkId: moved in the step
  std::vector<Bytes> raw_link_bytes;  // by LinkId: the same if all moved as it is
};

}  // namespace sluice::program
