// Predicts a step: runs a Program with durations from the cost model. Deterministic, no threads.
#pragma once

#include <vector>

#include "sluice/profile/cost_model.hpp"
#include "sluice/program/program.hpp"

namespace sluice {

struct Span {
  Seconds begin = 0;
  Seconds end = 0;
};

struct Timeline {
  std::vector<Span> ops;          // by OpIndex
  std::vector<Seconds> stalls;    // by OpIndex: how long the op waited for transfers after the previous op ended
  std::vector<Span> transfers;    // by TransferIndex
  Seconds step_seconds = 0;       // until the last instruction is done
  Seconds stall_seconds = 0;      // sum of stalls, plus the wait for transfers at the end of the step
  std::vector<Bytes> link_bytes;  // by LinkId
};

// A link carries one transfer at a time, in lane order: at full speed while the link back is idle, and at its
// shared_bandwidth while both are busy (latency stretches likewise: a link counts as busy from a transfer's begin to
// its end). While links carry data the op under way goes slower, by the time that every byte costs it
// (Link::interference): one link at 5 GB/s and 0.1 ns a byte leaves it half its speed, two such links a quarter.
//
// An exact event simulation, O(instructions x links + waits). Equal programs and costs give equal bits.
Timeline simulate(const Program& program, const CostModel& costs);

}  // namespace sluice
