#include "sluice/reproduce/making.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/testing/git_repository.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// Three results: one that is kept, one that is not, one that is not and takes hours.
const char* const kThree = R"({"results": [
  {"name": "here", "how": "executed", "minutes": 1, "measures": ["code/a.cpp"], "command": ["true"]},
  {"name": "missing", "how": "executed", "minutes": 2, "measures": ["code/a.cpp"], "command": ["true"]},
  {"name": "rare", "how": "executed", "minutes": 300, "measures": ["code/a.cpp"], "command": ["true"],
   "only_if_asked": "takes hours"}]})";

class MakingTest : public ::testing::Test {
 protected:
  MakingTest() {
    repository_.write("benchmarks/kept/a.json", kThree);
    repository_.write("code/a.cpp", "one");
    const std::string commit = repository_.commit();
    repository_.write("docs/results/here.txt", "$ true\ncommit " + commit + "\n");
    catalog_ = *read_catalog(repository_.root());
  }

  std::vector<KeptTask> tasks(const std::vector<std::string>& words, bool again = false,
                              const std::string& lacks = "") {
    KeptStates states(catalog_);
    return tasks_of(*select(catalog_, words), catalog_, states, again, [&](const KeptResult&) { return lacks; });
  }

  TestRepository repository_;
  Catalog catalog_;
};

TEST_F(MakingTest, WhatIsKeptIsNotMadeUnlessAgain) {
  const std::vector<KeptTask> first = tasks({"all"});
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].result->name, "missing");
  EXPECT_EQ(first[0].skipped, "");
  EXPECT_THAT(first[1].skipped, HasSubstr("takes hours"));
  EXPECT_EQ(minutes_of(first), 2);
  EXPECT_EQ(minutes_of(tasks({"all"}, /*again=*/true)), 3);
  EXPECT_EQ(tasks({"here"}).size(), 0U);
}

TEST_F(MakingTest, WhatIsAskedForByItsNameMayTakeHours) {
  EXPECT_EQ(minutes_of(tasks({"all", "rare"})), 302);
  EXPECT_EQ(minutes_of(tasks({"rar*"})), 300);
}

TEST_F(MakingTest, WhatTheMachineLacksIsSkippedEvenIfAskedFor) {
  const std::vector<KeptTask> some = tasks({"rare"}, false, "a GPU");
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some[0].skipped, "this machine lacks a GPU");
  EXPECT_EQ(minutes_of(some), 0);
}

TEST_F(MakingTest, ChangedCodeMakesItStale) {
  repository_.write("code/a.cpp", "two");
  EXPECT_EQ(minutes_of(tasks({"all"})), 3);
}

}  // namespace
}  // namespace sluice
