#include "sluice/report/plan_changes.hpp"

#include <gtest/gtest.h>

#include "sluice/memory/presets.hpp"

namespace sluice::report {
namespace {

using Outcome = train::PlanChange::Outcome;

std::string described(const train::PlanChange& change) {
  train::PlanRecord record{.rule = train::PlanRule::kReplanning};
  record.changes.push_back(change);
  return describe_last_change(memory::make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value(), record);
}

TEST(PlanChangesTest, WhyAPlanIsSought) {
  train::PlanChange change{.step = 9, .drift = {.compute = 0.5, .links = {1.8, 1.02}}};
  EXPECT_EQ(described(change),
            "step     10  ops 2.00 times faster, pcie3 -> dram 1.80 times slower than planned for: planning again "
            "meanwhile");
  change.drift = {.compute = 1.06, .links = {1.02, 1}};
  EXPECT_EQ(described(change), "step     10  ops 1.06 times slower than planned for: planning again meanwhile")
      << "the most, where nothing is off by a tenth";
  change.estimated = true;
  EXPECT_EQ(described(change), "step     10  measured by steps now: planning again meanwhile");
  change.drift.compute = 1.21;
  EXPECT_EQ(described(change),
            "step     10  measured by steps now, ops 1.21 times slower than estimated: planning again meanwhile");
}

TEST(PlanChangesTest, WhatCameOfIt) {
  train::PlanChange change{
      .outcome = Outcome::kTaken, .planning_seconds = 4.2, .present_seconds = 2, .new_seconds = 1.5};
  EXPECT_EQ(described(change),
            "planned again in 4.200 s: another plan runs from now on, predicted 1.500 s where the plan "
            "before would take 2.000 s");
  change.outcome = Outcome::kLeft;
  EXPECT_EQ(described(change),
            "planned again in 4.200 s: the plan stays, because another gains too little in the rest of "
            "the run (1.500 s where the plan before would take 2.000 s)");
  change.failure = "the disk is full";
  EXPECT_EQ(described(change), "planned again in 4.200 s: the plan stays, because the disk is full");
}

}  // namespace
}  // namespace sluice::report
