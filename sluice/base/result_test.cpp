#include "sluice/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace sluice {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error{ErrorCode::kBadInput, std::to_string(value) + " is odd"};
  return value / 2;
}

Result<int> quarter(int value) {
  SLUICE_ASSIGN(const int halved, half(value));
  return half(halved);
}

Status check_even(int value) {
  SLUICE_RETURN_IF_ERROR(half(value));
  return {};
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3).ok());
  EXPECT_EQ(half(3).error().message, "3 is odd");
}

TEST(Result, MacrosReturnTheFirstError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(3).error().message, "3 is odd");
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_TRUE(check_even(2).ok());
  EXPECT_EQ(check_even(5).error().message, "5 is odd");
}

TEST(Result, TakingTheValueOfAnErrorBreaksAnInvariant) { EXPECT_THROW(half(1).value(), std::logic_error); }

TEST(ErrorCodes, HaveNamesAndSayWhetherRoomWouldHelp) {
  EXPECT_EQ(to_string(ErrorCode::kInfeasible), "infeasible");
  EXPECT_EQ(to_string(ErrorCode::kNoneFound), "none-found");
  EXPECT_EQ(to_string(ErrorCode::kOutOfTime), "out-of-time");
  EXPECT_TRUE(wants_more_room(ErrorCode::kInfeasible));
  EXPECT_TRUE(wants_more_room(ErrorCode::kNoneFound));
  EXPECT_FALSE(wants_more_room(ErrorCode::kOutOfTime));
  EXPECT_FALSE(wants_more_room(ErrorCode::kUnsupported));
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 5);
}

TEST(Check, NamesTheConditionAndTheMessage) {
  EXPECT_NO_THROW(SLUICE_CHECK(true, ""));
  try {
    SLUICE_CHECK(1 > 2, "impossible");
    FAIL() << "did not throw";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("1 > 2: impossible"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sluice
