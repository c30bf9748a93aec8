#include "sluice/reproduce/files/expression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/json_file.hpp"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Evaluated> evaluated(const std::string& text) {
  static const nlohmann::json document = *parse_json(R"({"a": 8, "b": 2, "zero": 0, "list": [1, 2, 4], "below": [-1, 2],
    "rows": [{"x": 3, "simulated": true}]})");
  SLUICE_ASSIGN(const nlohmann::json written, parse_json(text));
  SLUICE_ASSIGN(const Expression expression, read_expression(JsonReader(written)));
  return evaluate(expression, [](const std::string& kept) -> Result<const nlohmann::json*> {
    if (kept != "k") return bad_input(kept + " is not kept yet");
    const nlohmann::json* found = &document;
    return found;
  });
}

double value_of(const std::string& text) {
  const auto found = evaluated(text);
  EXPECT_TRUE(found.ok()) << text << ": " << (found.ok() ? "" : found.error().message);
  return found.ok() ? found->value : -1e9;
}

std::string why_not(const std::string& text) {
  const auto found = evaluated(text);
  return found.ok() ? "a number" : found.error().message;
}

TEST(ExpressionTest, Calculates) {
  EXPECT_DOUBLE_EQ(value_of("1.5"), 1.5);
  EXPECT_DOUBLE_EQ(value_of(R"("k#/a")"), 8);
  EXPECT_DOUBLE_EQ(value_of(R"({"divide": ["k#/a", "k#/b"]})"), 4);
  EXPECT_DOUBLE_EQ(value_of(R"({"subtract": ["k#/a", 3]})"), 5);
  EXPECT_DOUBLE_EQ(value_of(R"({"add": ["k#/list/*", "k#/a"]})"), 15);
  EXPECT_DOUBLE_EQ(value_of(R"({"multiply": ["k#/list/*"]})"), 8);
  EXPECT_DOUBLE_EQ(value_of(R"({"mean": "k#/list/*"})"), 7.0 / 3);
  EXPECT_DOUBLE_EQ(value_of(R"({"geometric_mean": "k#/list/*"})"), 2);
  EXPECT_DOUBLE_EQ(value_of(R"({"max": "k#/list/*"})"), 4);
  EXPECT_DOUBLE_EQ(value_of(R"({"min": ["k#/list/*", 0.5]})"), 0.5);
  EXPECT_DOUBLE_EQ(value_of(R"({"count": "k#/list/*"})"), 3);
  EXPECT_DOUBLE_EQ(value_of(R"({"percent": {"subtract": [1, {"divide": ["k#/b", "k#/a"]}]}})"), 75);
}

TEST(ExpressionTest, GivesNoNumberWhereThereIsNone) {
  EXPECT_THAT(why_not(R"("other#/a")"), HasSubstr("other is not kept yet"));
  EXPECT_THAT(why_not(R"("k#/missing")"), HasSubstr("no \"missing\""));
  EXPECT_THAT(why_not(R"("k#/list/*")"), HasSubstr("3 numbers where one is wanted"));
  EXPECT_THAT(why_not(R"({"divide": ["k#/a", "k#/zero"]})"), HasSubstr("divide gives no finite number"));
  EXPECT_THAT(why_not(R"({"divide": ["k#/list/*", 2]})"), HasSubstr("divide of 4 numbers"));
  EXPECT_THAT(why_not(R"({"geometric_mean": "k#/below/*"})"), HasSubstr("geometric_mean gives no finite number"));
  EXPECT_THAT(why_not(R"({"mean": []})"), HasSubstr("mean of 0 numbers"));
}

TEST(ExpressionTest, RefusesWhatIsNoExpression) {
  EXPECT_THAT(why_not(R"({"power": [1, 2]})"), HasSubstr("unknown \"power\""));
  EXPECT_THAT(why_not(R"({"add": [1], "max": [2]})"), HasSubstr("an object with one of"));
  EXPECT_THAT(why_not("true"), HasSubstr("expected a number"));
  EXPECT_THAT(why_not(R"({"add": [1, "nowhere"]})"), HasSubstr("/add/1: \"nowhere\" is no address"));
}

TEST(ExpressionTest, SaysWhatItReadsAndWhetherThatIsSimulated) {
  EXPECT_TRUE(evaluated(R"({"add": ["k#/a", "k#/rows/0/x"]})")->simulated);
  EXPECT_FALSE(evaluated(R"("k#/a")")->simulated);
  const nlohmann::json written = *parse_json(R"({"add": ["k#/a", {"max": ["j#/b", "k#/c"]}, 1]})");
  EXPECT_THAT(read_expression(JsonReader(written))->kept(), ElementsAre("j", "k"));
}

}  // namespace
}  // namespace sluice
