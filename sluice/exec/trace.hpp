// What happened in one executed step: the measured counterpart of sim's Timeline.
#pragma once

#include <vector>

#include "sluice/base/units.hpp"

namespace sluice {

struct TraceSpan {
  Seconds begin = 0;  // since the step's start
  Seconds end = 0;
};

struct StepTrace {
  std::vector<TraceSpan> ops;        // by OpIndex; without the wait before the op
  std::vector<Seconds> stalls;       // by OpIndex
  std::vector<TraceSpan> transfers;  // by TransferIndex
  Seconds step_seconds = 0;
  Seconds stall_seconds = 0;      // sum of stalls plus the wait at the end of the step
  std::vector<Bytes> link_bytes;  // by LinkId
};

}  // namespace sluice
