// A profile for a graph that was not measured, from one of a similar graph: another length of input in the same bucket
// (Sentinel §IV-E: "input sizes in the same bucket have a similar graph").
//
// An op gets the first of these that is known: the time of an op with its signature; the time of the op with its name
// and kind, scaled by their work; its work at the mean rate of its kind; its bytes at the mean rate of all ops. Work is
// floating-point operations where summary.hpp counts them, else bytes of operands. Times by placement go with equal
// signatures only. The result says kGiven: what it holds is an estimate. Linear in both graphs. Thread-safe.
#pragma once

#include "sluice/profile/profile.hpp"

namespace sluice::profile {

// `profile` is of `from`, with a time for each of its ops.
Profile scale_profile(const graph::Graph& from, const Profile& profile, const graph::Graph& to);

}  // namespace sluice::profile
