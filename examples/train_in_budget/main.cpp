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

sluice::Result<std::string> train(sluice::Workload& workload, const sluice::Machine& machine,
                                  const sluice::Plan& plan) {
  SLUICE_ASSIGN(const auto session, sluice::Session::create(workload, machine, plan, {}));
  sluice::TrainingObserver observer;
  observer.step = [](const sluice::StepReport& report) {
    std::printf("  step %lld: loss %.6f\n", static_cast<long long>(report.step), static_cast<double>(report.loss));
  };
  SLUICE_RETURN_IF_ERROR(
      sluice::run_training(*session, {.end_step = kSteps, .learning_rate = kLearningRate}, observer));
  return session->hash_parameters();
}

sluice::Status run(const std::string& folder) {
  sluice::WorkloadOptions options;
  options.model = "resnet20";
  options.shape.batch = 16;
  SLUICE_ASSIGN(sluice::Workload workload, sluice::build_workload(options));
  SLUICE_ASSIGN(sluice::Machine machine, sluice::make_machine({.slow = {{"file"}}, .spill_path = folder}));
  sluice::ProfileCache cache = sluice::ProfileCache::open(machine.fingerprint());
  SLUICE_RETURN_IF_ERROR(sluice::probe_machine(machine, cache, sluice::Probe::kUseCache));
  SLUICE_ASSIGN(const sluice::Profile profile, sluice::measure_profile(*workload.compiled, machine, cache));

  std::string hashes[2];
  const char* budgets[] = {"50%", "100%"};
  for (int turn = 0; turn < 2; ++turn) {
    SLUICE_ASSIGN(const sluice::MemorySize size, sluice::parse_memory_size(budgets[turn]));
    SLUICE_ASSIGN(const sluice::Plan plan,
                  sluice::plan_workload(workload, machine, profile, sluice::kDefaultPlanner, {.size = size}));
    std::printf("%s of the memory, %s:\n", budgets[turn],
                sluice::format_bytes(plan.arena_bytes[sluice::kFastTier]).c_str());
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
