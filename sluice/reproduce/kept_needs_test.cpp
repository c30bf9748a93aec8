#include "sluice/reproduce/kept_needs.hpp"

#include <gtest/gtest.h>

#include "sluice/testing/git_repository.hpp"

namespace sluice {
namespace {

KeptResult needing(const std::string& what, const CommandWords& check) {
  KeptResult result;
  result.needs = {{what, check}};
  return result;
}

TEST(KeptNeedsTest, WhatIsMissingIsNamed) {
  const TestRepository folder;
  KeptNeeds needs(folder.root(), folder.root());
  EXPECT_EQ(needs.lacks({}), "");
  EXPECT_EQ(needs.lacks(needing("truth", {"true"})), "");
  EXPECT_EQ(needs.lacks(needing("a unicorn", {"false"})), "a unicorn");
  EXPECT_EQ(needs.lacks(needing("a program", {"no-such-program"})), "a program");
}

TEST(KeptNeedsTest, ChecksKnowTheCheckoutAndTheSpillFolder) {
  const TestRepository checkout, spill;
  KeptNeeds needs(checkout.root(), spill.root());
  EXPECT_EQ(needs.lacks(needing("its folders", {"test", "$root", "!=", "$spill", "-a", "-d", "$spill"})), "");
}

TEST(KeptNeedsTest, ACheckRunsOnce) {
  const TestRepository folder;
  KeptNeeds needs(folder.root(), folder.root());
  const KeptResult once = needing("a new folder", {"mkdir", "$spill/made"});
  EXPECT_EQ(needs.lacks(once), "");
  EXPECT_EQ(needs.lacks(once), "");
}

}  // namespace
}  // namespace sluice
