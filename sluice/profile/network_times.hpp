// How long ops wait for other ranks, by the bandwidth of the network between them.
//
// What is measured of such an op is its own work, on one rank. Every rank sends (ranks - 1) / ranks of a tensor, and
// receives as much meanwhile, whatever way the bytes take: that over the bandwidth is added. Latency is not counted.
#pragma once

#include "sluice/profile/profile.hpp"

namespace sluice::profile {

// Bytes that a rank sends to others in the op; 0 for ops that wait for nobody.
Bytes bytes_to_ranks(const graph::Graph& graph, const graph::Op& op);
Bytes bytes_to_ranks(const graph::Graph& graph);  // in a step

// Of every processor.
void add_network_seconds(const graph::Graph& graph, BytesPerSecond bandwidth, Profile& profile);

}  // namespace sluice::profile
