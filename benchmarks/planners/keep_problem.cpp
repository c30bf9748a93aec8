// Keeps the planning problem of a built-in model: its executable graph, and its op times from a saved profile.
//
//   keep_problem MODEL BATCH PROFILE FILE      after: sluice profile MODEL --batch BATCH --save PROFILE
#include <fmt/format.h>

#include "benchmarks/planners/kept_problem.hpp"
#include "sluice/base/as_index.hpp"
#include "sluice/base/atomic_file.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/profile/profile_file.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::benchmarks {
namespace {

Status keep(std::span<char*> arguments) {
  const std::string batch = arguments[2];
  KeptProblem problem{.model = arguments[1]};
  train::WorkloadOptions options{.model = problem.model};
  options.threads = processor_count();
  SLUICE_ASSIGN(problem.batch, parse_integer(batch, 1));
  options.shape.batch = problem.batch;
  SLUICE_ASSIGN(const train::Workload workload, train::build_workload(options));
  SLUICE_ASSIGN(const memory::Machine machine, memory::make_machine({.threads = options.threads}));
  SLUICE_ASSIGN(problem.profile, profile::read_profile(arguments[3], workload.graph(), machine));
  problem.graph = workload.graph();
  problem.measured_on = fmt::format("{}, {} threads", machine.cpu, machine.threads);
  return write_file(arguments[4], problem_json(problem).dump() + "\n");
}

}  // namespace
}  // namespace sluice::benchmarks

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: keep_problem MODEL BATCH PROFILE FILE\n");
    return 2;
  }
  const auto kept = sluice::benchmarks::keep({argv, sluice::as_index(argc)});
  if (kept.ok()) return 0;
  fmt::print(stderr, "keep_problem: {}\n", kept.error().message);
  return 2;
}
