// Plans a step of a model into a third of its memory for a machine that need not be this one: bandwidths and op times
// are given, nothing is measured and nothing runs. Prints what the plan does and what it would cost.
#include <cstdio>

#include "sluice/sluice.hpp"

namespace {

constexpr sluice::Seconds kGivenOpSeconds = 1e-3;

// Every op takes as long as every other: a profile by hand.
sluice::profile::Profile given_profile(const sluice::graph::Graph& graph, const sluice::memory::Machine& machine) {
  sluice::profile::Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.op_seconds.assign(static_cast<std::size_t>(graph.op_count()), kGivenOpSeconds);
  profile.provenance = sluice::memory::Provenance::kGiven;
  return profile;
}

sluice::Status run() {
  sluice::train::WorkloadOptions options;
  options.model = "resnet20";
  options.shape.batch = 16;
  SLUICE_ASSIGN(const sluice::train::Workload workload, sluice::train::build_workload(options));
  SLUICE_ASSIGN(const sluice::memory::Machine machine, sluice::memory::make_machine({.slow = {{"pcie3"}}}));
  const sluice::profile::Profile profile = given_profile(workload.graph(), machine);
  SLUICE_ASSIGN(const sluice::MemorySize third, sluice::parse_memory_size("33%"));
  SLUICE_ASSIGN(
      const sluice::plan::Plan plan,
      sluice::train::plan_workload(workload, machine, profile, sluice::planners::kDefaultPlanner, {.size = third}));
  std::printf("%s by %s: %d ops, %zu migrations, %s of fast memory, a step of %s predicted (slow memory emulated)\n",
              workload.graph().name.c_str(), plan.planner.c_str(), workload.graph().op_count(), plan.migrations.size(),
              sluice::format_bytes(plan.arena_bytes[sluice::memory::kFastTier]).c_str(),
              sluice::format_seconds(plan.predicted_step_seconds).c_str());
  return {};
}

}  // namespace

int main() {
  const sluice::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
