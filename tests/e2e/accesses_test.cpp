// Counting main-memory accesses of real training steps: the counts fit what the ops must touch, the bits stay, and a
// profile is measured once.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sluice/experiment/access_profiling.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/measure/access_profiler.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

constexpr int kThreads = 2;

struct CacheFolder {
  CacheFolder() : path(std::filesystem::path(SLUICE_TEST_CACHE) / ("accesses-" + std::to_string(::getpid()))) {}
  ~CacheFolder() { std::filesystem::remove_all(path); }
  profile::ProfileCache open(const memory::Machine& machine) const {
    return profile::ProfileCache::open(machine.compute_fingerprint(), path);
  }
  std::vector<std::filesystem::path> stored() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().filename().string().starts_with("accesses-")) found.push_back(entry.path());
    }
    return found;
  }
  std::filesystem::path path;
};

std::int64_t pages_of(const graph::Tensor& tensor) {
  return (tensor.bytes + profile::kPageBytes - 1) / profile::kPageBytes;
}

// Every page of an activation is written before it is read; everything an op uses it touches about once.
void expect_plausible(const graph::Graph& graph, const profile::AccessProfile& profile) {
  ASSERT_EQ(profile.ops.size(), graph.ops().size());
  std::int64_t counted = 0;
  std::int64_t operand_pages = 0;
  for (const graph::Op& op : graph.ops()) {
    for (const graph::TensorId id : graph::distinct_operands(op)) operand_pages += pages_of(graph.tensor(id));
  }
  const std::vector<profile::TensorAccesses> accesses = profile::accesses_by_tensor(graph, profile);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const graph::Tensor& tensor = graph.tensor(id);
    const profile::TensorAccesses& sum = accesses[static_cast<std::size_t>(id)];
    counted += sum.reads + sum.writes;
    const bool produced = tensor.role == graph::Role::kActivation || tensor.role == graph::Role::kGradient;
    if (produced && tensor.bytes >= profile::kPageBytes) {  // smaller ones may share pages
      EXPECT_GE(sum.writes, tensor.bytes / profile::kPageBytes) << tensor.name;
    }
  }
  EXPECT_GT(counted, operand_pages / 4) << "most operands are larger than what a TLB keeps from op to op";
  EXPECT_LT(counted, 4 * operand_pages);
}

TEST(Accesses, FitWhatTheOpsTouchWhereverTensorsAre) {
  for (const std::string tier : {"optane", "file"}) {
    SCOPED_TRACE(tier);
    const CacheFolder folder;
    train::Workload workload = small_workload("resnet20", 16, kThreads);
    const memory::Machine machine = test_machine(kThreads, {tier});
    profile::ProfileCache cache = folder.open(machine);
    // A reach that an op's operands exceed, so that counts do not depend on what earlier ops left behind.
    const experiment::AccessOptions options{.tlb_reach = 512 * kKiB, .largest_chunk = profile::kPageBytes};
    const auto profile = experiment::measure_access_profile(workload, machine, {}, options, cache);
    ASSERT_TRUE(profile.ok()) << profile.error().message;
    expect_plausible(workload.graph(), *profile);
    EXPECT_EQ(profile->largest_chunk, profile::kPageBytes);
  }
}

TEST(Accesses, AreCountedUnderABudgetToo) {
  const CacheFolder folder;
  train::Workload workload = small_workload("resnet20", 16, kThreads);
  const memory::Machine machine = test_machine(kThreads, {"file"});
  profile::ProfileCache cache = folder.open(machine);
  const experiment::AccessOptions options{.tlb_reach = 512 * kKiB, .largest_chunk = profile::kPageBytes};
  const train::FastBudget fast{*parse_memory_size("50%")};
  const auto profile = experiment::measure_access_profile(workload, machine, fast, options, cache);
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  expect_plausible(workload.graph(), *profile);
}

TEST(Accesses, AreMeasuredOnceAndNotTakenFromAnotherModel) {
  const CacheFolder folder;
  train::Workload workload = small_workload("resnet20", 4, kThreads);
  const memory::Machine machine = test_machine(kThreads, {"optane"});
  profile::ProfileCache cache = folder.open(machine);
  const auto first = experiment::measure_access_profile(workload, machine, {}, {}, cache);
  ASSERT_TRUE(first.ok()) << first.error().message;
  const auto second = experiment::measure_access_profile(workload, machine, {}, {}, cache);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->ops, first->ops);
  EXPECT_EQ(second->profiled_step, first->profiled_step) << "measured again";
  ASSERT_EQ(folder.stored().size(), 1U);

  train::Workload other = small_workload("resnet20", 8, kThreads);
  const auto of_other = experiment::measure_access_profile(other, machine, {}, {}, cache);
  ASSERT_TRUE(of_other.ok());
  const auto stored = folder.stored();
  ASSERT_EQ(stored.size(), 2U);
  std::filesystem::copy_file(stored[0], stored[1], std::filesystem::copy_options::overwrite_existing);
  for (train::Workload* const each : {&workload, &other}) {
    const auto of_each = experiment::measure_access_profile(*each, machine, {}, {}, cache);
    ASSERT_TRUE(of_each.ok()) << of_each.error().message;
    const auto& expected = each == &workload ? *first : *of_other;
    EXPECT_EQ(of_each->graph_fingerprint, expected.graph_fingerprint) << "a file of another model is measured anew";
  }

  for (const auto& path : stored) std::ofstream(path) << "damaged";
  EXPECT_TRUE(experiment::measure_access_profile(workload, machine, {}, {}, cache).ok())
      << "a damaged file is measured anew";
}

TEST(Accesses, CountingChangesNoBit) {
  for (const std::string planner : {"slow-only", "on-demand", "sentinel"}) {
    SCOPED_TRACE(planner);
    std::string hashes[2];
    for (const bool counted : {false, true}) {
      train::Workload workload = small_workload("resnet20", 4, kThreads);
      const memory::Machine machine = test_machine(kThreads, {"optane"});
      const auto plan = test_plan(workload, machine, planner, "50%");
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      const auto session = train::Session::create(workload, machine, *plan, {}).value();
      std::int64_t step = 0;
      const measure::StepRunner run_next_step = [&]() -> Result<Seconds> {
        SLUICE_ASSIGN(const train::StepOutcome outcome, session->run_step(step++, 0.01F));
        return outcome.trace.step_seconds;
      };
      const measure::AccessCounting counting{.tlb_reach = 512 * kKiB, .largest_chunk = profile::kPageBytes};
      if (counted) {
        const auto profile = measure::profile_accesses(session->executor(), workload.graph(), session->program(),
                                                       machine, counting, run_next_step);
        ASSERT_TRUE(profile.ok()) << profile.error().message;
      }
      while (step < 6) ASSERT_TRUE(run_next_step().ok());
      hashes[counted ? 1 : 0] = session->hash_parameters().value();
    }
    EXPECT_EQ(hashes[0], hashes[1]);
  }
}

}  // namespace
}  // namespace sluice::tests
