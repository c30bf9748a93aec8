// A planning problem for tests: a graph, a machine and made-up op times.
#pragma once

#include <string>
#include <utility>

#include "sluice/graph/in_place.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/processors.hpp"
#include "sluice/models/model.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::planners {

// An op's time is the bytes of its operands divided by a bandwidth, so that copies and compute are of the same order of
// magnitude.
struct PlanningProblem {
  PlanningProblem(graph::Graph step, const std::string& slow, BytesPerSecond link, BytesPerSecond compute = 4e9)
      : graph(std::move(step)),
        machine(memory::make_machine({.threads = 1, .slow = {{slow}}, .link_bandwidth = link}).value()) {
    machine.cache_bytes = 4 * kMiB;  // whatever this host has: plans are to be the same everywhere
    for (const graph::Op& op : graph.ops()) {
      double bytes = 0;
      for (const graph::TensorId id : graph::distinct_operands(op))
        bytes += static_cast<double>(graph.tensor(id).bytes);
      profile.op_seconds.push_back(bytes / compute);
    }
  }

  // A processor that computes in the slow tier, for planners that want one; a file is nobody's memory.
  void add_host_for(std::string_view planner) {
    if (!find_planner(planner)->gives_ops_to_processors || machine.tier(1).kind == memory::TierKind::kFile) return;
    const Status added = memory::add_processors({{"device", 1, {}}, {"host", 1, {machine.tier(1).name}}}, machine);
    SLUICE_CHECK(added.ok(), added.error().message);
  }

  PlanRequest request(double share) const {
    const auto fast = static_cast<Bytes>(share * static_cast<double>(fast_only_bytes(graph)));
    return {graph, profile, machine, {align_down(fast, memory::kBlockAlignment), Bytes{1} << 40}};
  }

  graph::Graph graph;
  memory::Machine machine;
  profile::Profile profile;
};

// A built-in model's step with its results written in place, as a backend would.
inline graph::Graph merged_model(const std::string& name, std::int64_t batch, std::int64_t image) {
  graph::Graph graph = std::move(models::build_training_model(name, {.batch = batch, .image_size = image})).value();
  graph::set_in_place_candidates(graph);
  graph::merge_in_place(graph);
  return graph;
}

}  // namespace sluice::planners
