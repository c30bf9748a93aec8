// An outside project that uses an installed Sluice: builds a small model, plans it into a third of its memory with
// given op times, and prints a summary of the plan.
#include <cstdio>
#include <sluice/sluice.hpp>

namespace {

sluice::Result<sluice::plan::Plan> plan_in_a_third(const sluice::graph::Graph& graph) {
  sluice::memory::MachineOptions options;
  options.slow = {{"pcie3"}};
  SLUICE_ASSIGN(const sluice::memory::Machine machine, sluice::memory::make_machine(options));
  sluice::profile::Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.op_seconds.assign(static_cast<std::size_t>(graph.op_count()), 1e-3);
  profile.provenance = sluice::memory::Provenance::kGiven;
  const sluice::Bytes budget =
      sluice::align_up(sluice::planners::fast_only_bytes(graph) / 3, sluice::memory::kBlockAlignment);
  return sluice::planners::make_plan("sentinel", {graph, profile, machine, {budget, machine.tier(1).capacity}});
}

sluice::Status run() {
  SLUICE_ASSIGN(const sluice::graph::Graph logical, sluice::models::build_training_model("resnet20", {.batch = 16}));
  const auto backend = sluice::kernels::make_onednn_backend();
  SLUICE_ASSIGN(const auto compiled, backend->compile(logical, 1));
  const sluice::graph::Graph& graph = compiled->graph();
  SLUICE_ASSIGN(const sluice::plan::Plan plan, plan_in_a_third(graph));
  std::printf("%s: %d ops, %zu migrations, %s of fast memory\n", graph.name.c_str(), graph.op_count(),
              plan.migrations.size(), sluice::format_bytes(plan.arena_bytes[0]).c_str());
  return {};
}

}  // namespace

int main() {
  const sluice::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
