// What was measured of a step: the time of every op with its operands in the fast tier, and where it was asked for,
// with operands in slow tiers. (Link figures live in Machine; tensor sizes and live ranges follow from the graph.)
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/base/units.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/profile/encoding_figures.hpp"
#include "sluice/profile/placement.hpp"

namespace sluice::profile {

// Times of all ops, each with its operands in the fast tier.
struct OpTimes {
  IdVector<graph::OpIndex, Seconds> warm;  // after the ops before it
  IdVector<graph::OpIndex, Seconds> cold;  // or empty: no operand in a cache
  bool operator==(const OpTimes&) const = default;
};

struct Profile {
  std::string graph_fingerprint;
  std::string compute_fingerprint;                 // of the Machine it was measured on
  IdVector<graph::OpIndex, Seconds> op_seconds;    // warm, after the ops before it
  IdVector<graph::OpIndex, Seconds> cold_seconds;  // or empty: no operand in a cache
  // The same by other choices than the graph's own, each where an op has it: an op without such an implementation is
  // timed with its first one. Each processor was measured by itself.
  std::map<graph::OpChoice, std::shared_ptr<const OpTimes>> choices;
  // By slow tier; shared, because profiles are copied and these are large.
  std::vector<std::shared_ptr<const PlacementTimes>> placements;
  std::shared_ptr<const EncodingFigures> encodings;  // or nullptr: nobody measured, nothing is worth encoding
  int distinct_ops = 0;                              // ops of different signature
  int measured_ops = 0;   // of these, how many were measured for this profile; the others were known, or are estimates
  int in_step_ops = 0;    // of these, how many by steps of a training instead of alone
  int estimated_ops = 0;  // of these, how many nobody measured soundly: their times are those of ops like them
  double estimated_share = 0;  // of the sum of all op times, that those make up
  memory::Provenance provenance = memory::Provenance::kMeasured;
};

// Whether other implementations than the first were timed.
inline bool has_implementation_times(const Profile& profile) {
  for (const auto& [choice, times] : profile.choices) {
    if (choice.implementation != 0) return true;
  }
  return false;
}

}  // namespace sluice::profile
