// The promise: the loss of every step and every parameter at the end are the same bits, whatever the planner, the
// budget, the slow tier and the processors, for each number of threads against its own run with everything in fast
// memory.
//
// One design over all of these factors and the families of models. The quick set has every pair of their levels, all
// has every triple. A case whose planner cannot do with its budget takes the next larger one, so that nearly every row runs.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>

#include "sluice/memory/presets.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/testing/covering_design.hpp"
#include "sluice/testing/float_bits.hpp"
#include "sluice/testing/test_set.hpp"
#include "tests/e2e/small_families.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

constexpr std::int64_t kComparedSteps = 2;
constexpr float kLearningRate = 0.01F;

// Each that has a name on every machine, and three of them together.
const std::vector<std::vector<std::string>>& slow_tiers() {
  static const auto kAll = [] {
    std::vector<std::vector<std::string>> tiers;
    for (const std::string& name : memory::slow_tier_names()) tiers.push_back({name});
    tiers.push_back({"optane:1MiB", "pmbd:1MiB", "file"});
    return tiers;
  }();
  return kAll;
}

const std::vector<Processors> kProcessors{{.threads = 1},
                                          {.threads = 2},
                                          {.threads = 1, .host_threads = 1},
                                          {.threads = 2, .host_threads = 1},
                                          {.threads = 1, .host_threads = 1, .host_backend = "reference"}};
const std::vector<std::string> kBudgets{"30%", "45%", "70%", "100%"};

// Every planner as it is and, where we added something, as published; those that search, with short searches.
std::vector<std::string> contestants() {
  const std::map<std::string, std::string, std::less<>> shorter{
      {"home", "home:particles=40:iterations=20"},
      {"swapadvisor", "swapadvisor:population=8:generations=4"},
      {"checkmate", "checkmate:branches=20"}};
  std::vector<std::string> names;
  for (const planners::PlannerEntry& planner : planners::planners()) {
    const auto quick = shorter.find(planner.name);
    names.emplace_back(quick == shorter.end() ? std::string(planner.name) : quick->second);
    if (!planner.additions.empty()) names.push_back(std::string(planner.name) + ":additions=none");
  }
  for (const char* way : {"direct", "intervals", "all"}) {  // in which Sentinel-GPU triggers migration
    names.push_back(std::string("sentinel:additions=none:migration=") + way);
  }
  return names;
}

struct Row {
  std::string planner;
  std::size_t budget = 0;  // of kBudgets, and larger ones where the planner cannot do with it
  std::size_t tier = 0;    // of slow_tiers()
  std::size_t processors = 0;
};

// By family, in the order of small_families().
std::vector<std::vector<Row>> rows_by_family() {
  const std::vector<std::string> names = contestants();
  const auto families = small_families().size();
  const auto size = [](const auto& of) { return static_cast<int>(of.size()); };
  const auto design = testing::covering_design(
      {size(names), static_cast<int>(families), size(kProcessors), size(slow_tiers()), size(kBudgets) - 1},
      testing::pick_for_set(2, 3, 3));
  std::vector<std::vector<Row>> rows(families);
  for (const std::vector<int>& one : design) {
    const auto level = [&](int factor) { return static_cast<std::size_t>(one[factor]); };
    rows[level(1)].push_back({names[level(0)], level(4), level(3), level(2)});
  }
  return rows;
}

class SameBitsTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  // With everything in fast memory, by the same processors.
  const TrainedRun& expected(std::size_t processors) {
    std::optional<TrainedRun>& run = expected_[processors];
    if (run) return *run;
    train::Workload& workload = workload_for(processors);
    const memory::Machine machine = machine_of(kProcessors[processors], {"file"});
    run = train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), kComparedSteps, kLearningRate);
    EXPECT_TRUE(std::isfinite(run->losses.back()));
    EXPECT_NE(run->losses.front(), run->losses.back());
    return *run;
  }

  train::Workload& workload_for(std::size_t processors) {
    std::optional<train::Workload>& workload = workloads_[processors];
    if (!workload) workload.emplace(workload_on(small_families()[GetParam()].options, kProcessors[processors]));
    return *workload;
  }

  // In the smallest of the budgets from the row's on; nothing where the planner can do with none of them on this machine.
  std::optional<plan::Plan> plan(const Row& row, const memory::Machine& machine) {
    for (std::size_t budget = row.budget; budget < kBudgets.size(); ++budget) {
      Result<plan::Plan> plan = test_plan(workload_for(row.processors), machine, row.planner, kBudgets[budget]);
      if (plan.ok()) return std::move(*plan);
      EXPECT_TRUE(wants_more_room(plan.error().code) || plan.error().code == ErrorCode::kUnsupported ||
                  plan.error().code == ErrorCode::kBadInput)
          << plan.error().message;
      if (!wants_more_room(plan.error().code)) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  std::map<std::size_t, std::optional<train::Workload>> workloads_;
  std::map<std::size_t, std::optional<TrainedRun>> expected_;
};

TEST_P(SameBitsTest, OverPlannersBudgetsTiersAndProcessors) {
  const std::vector<Row> rows = rows_by_family()[GetParam()];
  std::size_t runs = 0;
  std::size_t moving = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.planner + " from " + kBudgets[row.budget] + ", " +
                 ::testing::PrintToString(slow_tiers()[row.tier]) + ", processors " + std::to_string(row.processors));
    const memory::Machine machine = machine_of(kProcessors[row.processors], slow_tiers()[row.tier]);
    const std::optional<plan::Plan> made = plan(row, machine);
    if (!made) continue;
    const TrainedRun run = train(workload_for(row.processors), machine, *made, kComparedSteps, kLearningRate);
    EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected(row.processors).losses));
    EXPECT_EQ(run.parameter_hash, expected(row.processors).parameter_hash);
    ++runs;
    moving += run.bytes_moved > 0 ? 1 : 0;
  }
  RecordProperty("runs", static_cast<int>(runs));
  // slow-only and first-touch run where ops can use the slow tier, and published forms where their hardware is.
  EXPECT_GE(runs, rows.size() / 2) << "of " << rows.size() << ": too few could be planned for this test to mean much";
  EXPECT_GE(moving, rows.size() / 4);
}

std::vector<std::size_t> family_indices() {
  std::vector<std::size_t> indices(small_families().size());
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return indices;
}

INSTANTIATE_TEST_SUITE_P(Families, SameBitsTest, ::testing::ValuesIn(family_indices()),
                         [](const auto& instance) { return small_families()[instance.param].name; });

}  // namespace
}  // namespace sluice::tests
