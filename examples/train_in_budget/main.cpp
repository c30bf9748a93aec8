// Trains a small network in half of the memory it wants, the rest in a file, and again with all of it in memory: the
// parameters end up the same to the last bit.
//
//   train_in_budget [FOLDER]    where the file of what does not fit goes (default: .)
#include <cstdio>
#include <string>

#include "sluice/sluice.hpp"

namespace {

constexpr std::int64_t kSteps = 5;
constexpr double kLearningRate = 0.05;

sluice::Result<std::string> train(sluice::train::Workload& workload, const sluice::memory::Machine& machine,
                                  const sluice::plan::Plan& plan) {
  SLUICE_ASSIGN(const auto session, sluice::train::Session::create(workload, machine, plan, {}));
  sluice::train::TrainingObserver observer;
  observer.step = [](const sluice::train::StepReport& report) {
    std::printf("  step %lld: loss %.6f\n", static_cast<long long>(report.step), static_cast<double>(report.loss));
  };
  SLUICE_RETURN_IF_ERROR(
      sluice::train::run_training(*session, {.end_step = kSteps, .learning_rate = kLearningRate}, observer));
  return session->hash_parameters();
}

sluice::Status run(const std::string& folder) {
  sluice::train::WorkloadOptions options;
  options.model = "resnet20";
  options.shape.batch = 16;
  SLUICE_ASSIGN(sluice::train::Workload workload, sluice::train::build_workload(options));
  SLUICE_ASSIGN(sluice::memory::Machine machine,
                sluice::memory::make_machine({.slow = {{"file"}}, .spill_path = folder}));
  sluice::profile::ProfileCache cache = sluice::profile::ProfileCache::open(machine.fingerprint());
  SLUICE_RETURN_IF_ERROR(sluice::experiment::probe_machine(machine, cache, sluice::experiment::Probe::kUseCache));
  SLUICE_ASSIGN(const sluice::profile::Profile profile,
                sluice::measure::measure_profile(*workload.compiled, machine, cache));

  std::string hashes[2];
  const char* budgets[] = {"50%", "100%"};
  for (int turn = 0; turn < 2; ++turn) {
    SLUICE_ASSIGN(const sluice::MemorySize size, sluice::parse_memory_size(budgets[turn]));
    SLUICE_ASSIGN(
        const sluice::plan::Plan plan,
        sluice::train::plan_workload(workload, machine, profile, sluice::planners::kDefaultPlanner, {.size = size}));
    std::printf("%s of the memory, %s:\n", budgets[turn],
                sluice::format_bytes(plan.arena_bytes[sluice::memory::kFastTier]).c_str());
    SLUICE_ASSIGN(hashes[turn], train(workload, machine, plan));
  }
  std::printf("%s\n", hashes[0] == hashes[1] ? "the same bits" : "DIFFERENT BITS");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const sluice::Status status = run(argc > 1 ? argv[1] : ".");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
