#include "sluice/base/text/closest_name.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

const std::vector<std::string_view> kNames{"fast-only", "sentinel", "joint", "dtr"};

TEST(ClosestName, IsTheOneWithTheFewestChanges) {
  EXPECT_EQ(closest_name("sentinal", kNames), "sentinel");
  EXPECT_EQ(closest_name("setinel", kNames), "sentinel");
  EXPECT_EQ(closest_name("fastonly", kNames), "fast-only");
  EXPECT_EQ(closest_name("JOINT", kNames), "joint");
}

TEST(ClosestName, IsNothingWhereNoneIsSimilar) {
  EXPECT_EQ(closest_name("oracle", kNames), "");
  EXPECT_EQ(closest_name("", kNames), "");
  EXPECT_EQ(closest_name("joint", {}), "");
  EXPECT_EQ(suggest_name("oracle", kNames), "; known ");
  EXPECT_EQ(suggest_name("joynt", kNames), "; did you mean 'joint'? Known ");
}

}  // namespace
}  // namespace sluice
