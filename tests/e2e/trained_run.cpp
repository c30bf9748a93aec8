#include "tests/e2e/trained_run.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace sluice::tests {

train::Workload small_workload(const std::string& model, std::int64_t batch, int threads) {
  train::WorkloadOptions options;
  options.model = model;
  options.shape.batch = batch;
  options.threads = threads;
  return test_workload(options);
}

train::Workload test_workload(const train::WorkloadOptions& options) {
  Result<train::Workload> workload = train::build_workload(options);
  SLUICE_CHECK(workload.ok(), workload.error().message);
  return std::move(*workload);
}

memory::Machine test_machine(int threads, const std::vector<std::string>& slow_tiers) {
  memory::MachineOptions options;
  options.threads = threads;
  options.slow.clear();
  for (const std::string& text : slow_tiers) {
    const memory::SlowTierRequest asked = memory::parse_slow_tier(text).value();
    options.slow.push_back({asked.name, asked.capacity ? asked.capacity->resolve(0) : 0});
  }
  options.spill_path = ::testing::TempDir();
  Result<memory::Machine> machine = memory::make_machine(options);
  SLUICE_CHECK(machine.ok(), machine.error().message);
  return std::move(*machine);
}

train::Workload workload_on(train::WorkloadOptions options, const Processors& processors) {
  options.threads = processors.threads;
  if (processors.host_threads == 0) return test_workload(options);
  options.other_processors = {{processors.host_threads, processors.host_backend}};
  train::Workload workload = test_workload(options);
  for (graph::OpIndex index = 0; index < workload.graph().op_count(); ++index) {
    const graph::Op& op = workload.graph().op(index);
    const bool host = (op.phase == graph::Phase::kUpdate || index % 3 == 1) && op.no_kernel_on.empty();
    workload.choices.push_back({0, host ? 1 : kMainProcessor});
  }
  return workload;
}

memory::Machine machine_of(const Processors& processors, const std::vector<std::string>& slow_tiers) {
  memory::Machine machine = test_machine(processors.threads, slow_tiers);
  if (processors.host_threads == 0) return machine;
  SLUICE_CHECK(
      memory::add_processors(
          {{"device", processors.threads, {}}, {"host", processors.host_threads, {}, processors.host_backend}}, machine)
          .ok(),
      "two of them");
  return machine;
}

Result<policies::Run> test_run(const train::Workload& workload, const memory::Machine& machine,
                               const std::string& planner, const std::string& fast) {
  profile::Profile profile;
  profile.graph_fingerprint = workload.graph().fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.provenance = memory::Provenance::kGiven;
  profile.op_seconds.assign(static_cast<std::size_t>(workload.graph().op_count()), 1e-4);
  SLUICE_ASSIGN(const MemorySize size, parse_memory_size(fast));
  return train::plan_run(workload, machine, profile, planner, {.size = size, .raise_to_feasible = false});
}

Result<plan::Plan> test_plan(const train::Workload& workload, const memory::Machine& machine,
                             const std::string& planner, const std::string& fast) {
  SLUICE_ASSIGN(policies::Run run, test_run(workload, machine, planner, fast));
  return std::get<plan::Plan>(std::move(run));
}

TrainedRun train(train::Workload& workload, const memory::Machine& machine, const plan::Plan& plan, std::int64_t steps,
                 float learning_rate, const train::SessionOptions& session_options) {
  TrainedRun run;
  auto session = train::Session::create(workload, machine, plan, session_options);
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

}  // namespace sluice::tests
