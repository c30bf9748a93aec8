// Which of the optimizer's states lie in a file behind the host's memory, and when each is in that memory (what
// ZeRO-Infinity added to ZeRO-Offload: Rajbhandari et al., SC 2021, "infinity offload engine").
//
//   file -> host   |read 1|read 2|read 3|read 4|
//   host                  |up 1| |up 2| |up 3| |up 4|
//   host -> file               |write 1|write 2|write 3|write 4|
//
// A state is read before the op that needs it, updated in place by the host, and written back behind it. Its room is taken
// as early as there is any, in the order in which ops need what comes: so the room decides how many are on their way.
//
// Room is counted in bytes over ops; packing may lose some, so whoever calls may have to ask again with less. Reads go
// to ops, not to times: what the file cannot bring in time, the host waits for. Pure. Cost: linear in uses and in ops
// for each state.
#pragma once

#include <span>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"

namespace sluice::planners {

// Uses of a state that lie close together, over which it stays in the host's memory.
struct HostVisit {
  Interval<graph::OpIndex> room;  // from when it is read, or made, until it is written back
  graph::OpIndex first_use = 0;
  graph::OpIndex last_use = 0;
  bool is_read = false;     // from the file; else the first use makes it
  bool is_written = false;  // to the file; else nothing has changed, or the next visit makes it anew
};

struct StateOnFile {
  graph::TensorId tensor = 0;
  std::vector<HostVisit> visits;
};

// The visits of a tensor that the host alone uses, ascending, each with the least room that it can do with.
std::vector<HostVisit> host_visits(const std::vector<graph::Use>& uses, bool persistent, graph::OpIndex op_count);

struct PlacedStates {
  std::vector<graph::TensorId> in_memory;  // all the time
  std::vector<StateOnFile> on_file;
};

// Keeps in the host's memory what is so small that `file`, the link to the file, takes longer to start than to carry it;
// then, beside working room for a few updates, what is updated last, so that the step does not end with writing it.
// `states`: ascending. `occupied`: what else is in that memory, by op, and what there is of it. kNoneFound names the op
// whose states alone find no room.
Result<PlacedStates> place_states(const graph::Graph& graph, const graph::Liveness& liveness,
                                  std::span<const graph::TensorId> states, ReservationTable occupied,
                                  const memory::Link& file);

}  // namespace sluice::planners
