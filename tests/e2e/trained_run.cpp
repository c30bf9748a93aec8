#include "tests/e2e/trained_run.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace sluice {

Workload small_workload(const std::string& model, std::int64_t batch, int threads) {
  WorkloadOptions options;
  options.model = model;
  options.shape.batch = batch;
  options.threads = threads;
  return test_workload(options);
}

Workload test_workload(const WorkloadOptions& options) {
  Result<Workload> workload = build_workload(options);
  SLUICE_CHECK(workload.ok(), workload.error().message);
  return std::move(*workload);
}

Machine test_machine(int threads, const std::vector<std::string>& slow_tiers) {
  MachineOptions options;
  options.threads = threads;
  options.slow.clear();
  for (const std::string& text : slow_tiers) {
    const SlowTierRequest asked = parse_slow_tier(text).value();
    options.slow.push_back({asked.name, asked.capacity ? asked.capacity->resolve(0) : 0});
  }
  options.spill_path = ::testing::TempDir();
  Result<Machine> machine = make_machine(options);
  SLUICE_CHECK(machine.ok(), machine.error().message);
  return std::move(*machine);
}

Workload workload_on(WorkloadOptions options, const Processors& processors) {
  options.threads = processors.threads;
  if (processors.host_threads == 0) return test_workload(options);
  options.other_processors = {{processors.host_threads, processors.host_backend}};
  Workload workload = test_workload(options);
  for (OpIndex index = 0; index < workload.graph().op_count(); ++index) {
    const Op& op = workload.graph().op(index);
    const bool host = (op.phase == Phase::kUpdate || index % 3 == 1) && op.no_kernel_on.empty();
    workload.choices.push_back({0, host ? 1 : kMainProcessor});
  }
  return workload;
}

Machine machine_of(const Processors& processors, const std::vector<std::string>& slow_tiers) {
  Machine machine = test_machine(processors.threads, slow_tiers);
  if (processors.host_threads == 0) return machine;
  SLUICE_CHECK(
      add_processors(
          {{"device", processors.threads, {}}, {"host", processors.host_threads, {}, processors.host_backend}}, machine)
          .ok(),
      "two of them");
  return machine;
}

Result<Plan> test_plan(const Workload& workload, const Machine& machine, const std::string& planner,
                       const std::string& fast) {
  Profile profile;
  profile.graph_fingerprint = workload.graph().fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.provenance = Provenance::kGiven;
  profile.op_seconds.assign(static_cast<std::size_t>(workload.graph().op_count()), 1e-4);
  SLUICE_ASSIGN(const MemorySize size, parse_memory_size(fast));
  return plan_workload(workload, machine, profile, planner, {.size = size, .raise_to_feasible = false});
}

TrainedRun train(Workload& workload, const Machine& machine, const Plan& plan, std::int64_t steps, float learning_rate,
                 const SessionOptions& session_options) {
  TrainedRun run;
  auto session = Session::create(workload, machine, plan, session_options);
  SLUICE_CHECK(session.ok(), session.error().message);
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto outcome = (*session)->run_step(step, learning_rate);
    SLUICE_CHECK(outcome.ok(), outcome.error().message);
    run.losses.push_back(outcome->loss);
    const std::vector<Bytes>& moved = outcome->trace.link_bytes;
    run.bytes_moved = std::accumulate(moved.begin(), moved.end(), Bytes{0});
  }
  const auto hash = (*session)->hash_parameters();
  SLUICE_CHECK(hash.ok(), hash.error().message);
  run.parameter_hash = *hash;
  return run;
}

}  // namespace sluice
