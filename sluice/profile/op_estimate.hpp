// Times of ops that nobody measured on this machine, from those that somebody did.
//
// An op takes what the two ops of its kind that are most like it take (in floating-point operations and in bytes of
// operands, by their ratios), each scaled by its work: other shapes of the same model, or those of other models. Where no
// op of its kind was measured, it takes what the machine's roof allows: its operations or its bytes, whichever take
// longer, at the mean rates of all ops that were measured. Where none was, at rates that present cores and memories
// reach (kAssumedFlops; the bandwidth of the fast tier, or kAssumedBandwidth).
//
// Enough to begin a run with (measure/profiler.hpp measures). Pure; linear in what the cache knows, for each op.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/profile/profile.hpp"
#include "sluice/profile/profile_cache.hpp"

namespace sluice::profile {

inline constexpr double kAssumedFlops = 40e9;  // a second, of one compute thread
inline constexpr BytesPerSecond kAssumedBandwidth = 10e9;

// Of an op that sees its operands in other shapes than they are stored in (Op::views), only bytes are counted.
OpWork work_of(const graph::Graph& graph, const graph::Op& op);

class OpEstimator {
 public:
  // `ops`: what was measured, by signature (ProfileCache::ops()).
  OpEstimator(const memory::Machine& machine, const std::map<std::string, OpMeasurement>& ops);

  Seconds seconds(graph::OpKind kind, const OpWork& work) const;

 private:
  struct Known {
    OpWork work;
    Seconds seconds = 0;
  };
  struct Roof {
    double flops = 0;  // a second
    BytesPerSecond bandwidth = 0;
  };

  static Roof roof_of(const memory::Machine& machine, const std::vector<Known>& all);

  std::map<std::string, std::vector<Known>, std::less<>> by_kind_;
  Roof roof_;
};

// What the cache knows of the graph's ops, and estimates of the others: Profile::estimated_ops says how many. Where it
// knows none soundly, the whole profile is Provenance::kGiven. Cold times only where all ops have one.
Profile known_profile(const graph::Graph& graph, const memory::Machine& machine, const ProfileCache& cache);

}  // namespace sluice::profile
