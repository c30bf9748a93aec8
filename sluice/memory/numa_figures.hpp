// What a machine's firmware says of the speed of its memory nodes: the kernel's rendering of the ACPI HMAT table,
// /sys/devices/system/node/nodeN/access*/initiators/.
//
// The files hold what the processors nearest to the node see of it. They say nothing about a node's memory as seen from
// elsewhere, and on a machine with two sockets that is the case of interest. So the figures are used only where the
// nodes that compute are among those initiators. Bandwidths are in MB/s there (10^6), latencies in ns.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::memory {

inline constexpr const char* kNodeFolder = "/sys/devices/system/node";

struct NodeFigures {
  BytesPerSecond read_bandwidth = 0;
  BytesPerSecond write_bandwidth = 0;
  Seconds read_latency = 0;
  Seconds write_latency = 0;
};

// Nothing where the firmware does not say: no such file, or 0 in one of them. `computing` are the nodes whose
// processors will use the memory; `nodes` is kNodeFolder or a test's. Error: a file that does not hold a number.
Result<std::optional<NodeFigures>> read_node_figures(int node, std::span<const int> computing,
                                                     const std::filesystem::path& nodes = kNodeFolder);

}  // namespace sluice::memory
