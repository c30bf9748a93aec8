// Main-memory accesses of one step, by op and tensor (Sentinel §III-A): how often the pages of each tensor were touched
// while they were not among the pages that a processor's TLB would have held.
//
// Counts are in pages of 4 KiB: a tensor of 100 pages that is read once from end to end has 100 reads, so one access
// per page. Large tensors may be tracked in chunks of several pages, to bound the cost: the touch of a chunk of n pages
// then counts n. A page that is first read and then written while the TLB holds it counts one read and one write.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/base/units.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::profile {

inline constexpr Bytes kPageBytes = 4 * kKiB;

struct TensorTouches {
  graph::TensorId tensor = -1;
  std::int64_t reads = 0;  // in pages
  std::int64_t writes = 0;
  bool operator==(const TensorTouches&) const = default;
};

struct AccessProfile {
  std::string graph_fingerprint;
  std::string compute_fingerprint;                           // of the Machine it was measured on
  std::string method;                                        // "page protection", "hardware sampling"
  Bytes tlb_reach = 0;                                       // of the software TLB, or of the machine's when sampled
  Bytes largest_chunk = kPageBytes;                          // no tensor was tracked in larger chunks
  IdVector<graph::OpIndex, std::vector<TensorTouches>> ops;  // one entry per distinct operand, inputs first
  Seconds normal_step = 0;                                   // the same step without tracking
  Seconds profiled_step = 0;
  memory::Provenance provenance = memory::Provenance::kMeasured;
  std::vector<std::string> notes;  // what makes the counts less than they seem: a debugger, a sanitizer
};

struct TensorAccesses {
  std::int64_t reads = 0;  // in pages, over the whole step
  std::int64_t writes = 0;
  double per_page = 0;  // (reads + writes) / pages of the tensor: how often its average page was accessed
};

// By TensorId.
IdVector<graph::TensorId, TensorAccesses> accesses_by_tensor(const graph::Graph& graph, const AccessProfile& profile);

}  // namespace sluice::profile
