// Data locality of a step: of all the data that ops request, the share that they find in the fast tier (ReDL section
// IV-D: "the percentage of requested data objects in the fast memory").
//
// An op requests each of its distinct operands once, whole. An operand counts as found when the op uses it in the fast
// tier and did not have to wait for it: if a transfer brought it there, that transfer had ended when the op before
// ended. No transfer brings what a step begins with or what an op makes. Operands used in place in a slow tier do not
// count as found. So a plan that prefetches in time has a locality of 1 however much it moves, and one that fetches on
// demand has as many misses as fetches. (The paper counts objects; bytes say how much had to be fetched or was far
// away.)
//
// One definition for predicted and measured steps. Pure functions, O(operands + transfers). Thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"

namespace sluice::sim {

struct LocalityCount {
  Bytes requested_bytes = 0;
  Bytes found_bytes = 0;
  std::int64_t requested = 0;  // operands
  std::int64_t found = 0;

  void add(const LocalityCount& more);
  double by_bytes() const;  // 0 to 1; 1 where nothing is requested
  double by_objects() const;
  bool operator==(const LocalityCount&) const = default;
};

struct LocalityBucket {
  Seconds begin = 0;    // since the step's start
  LocalityCount count;  // of the ops that end in the bucket
};

struct Locality {
  LocalityCount step;
  std::vector<LocalityBucket> buckets;  // equal parts of the step, in order; those in which no op ends are left out
};

inline constexpr int kLocalityBuckets = 100;  // at most, of a step

// By OpIndex: what each op requested and found. `op_ends` by OpIndex, `transfer_ends` by TransferIndex, of one step.
std::vector<LocalityCount> count_locality(const graph::Graph& graph, const program::Program& program,
                                          const std::vector<Seconds>& op_ends,
                                          const std::vector<Seconds>& transfer_ends);

// A whole step and its course. `op_ends` by OpIndex.
Locality summarise_locality(const std::vector<LocalityCount>& ops, const std::vector<Seconds>& op_ends,
                            Seconds step_seconds);

// Of a step of `program`, predicted or measured.
Locality measure_locality(const graph::Graph& graph, const program::Program& program, const program::StepTimes& step);

// "93.1 % of bytes, 90.2 % of operands found fast"
std::string describe_locality(const LocalityCount& count);

// {"by_bytes", "by_objects", "requested_bytes", "found_bytes", "requested", "found", "series": [{"ms", "by_bytes",
// "by_objects"}]}
nlohmann::json locality_json(const Locality& locality);

}  // namespace sluice::sim
