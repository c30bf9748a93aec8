// Ops that choose among elements: what is not chosen leaves no trace, though it be infinite or no number.
#include <gmock/gmock.h>

#include <limits>

#include "tests/onnx/forward_run.hpp"

namespace sluice::tests {
namespace {

using ::testing::NanSensitiveFloatEq;
using ::testing::Pointwise;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ChosenValues, WhereReplacesWhatIsNoNumber) {
  ModelMaker maker;
  maker.input("x", {4});
  maker.weights("other", {4}, {5, 6, 7, 8});
  maker.node("IsNaN", {"x"}, {"is_nan"});
  maker.node("Where", {"is_nan", "other", "x"}, {"y"});
  maker.output("y");
  EXPECT_EQ(output_of(maker, numbers({4}, {1, kNan, -kInfinity, kNan})), (Values{1, 6, -kInfinity, 8}));
}

TEST(ChosenValues, WhereGuardsALogarithm) {
  ModelMaker maker;
  maker.input("x", {4});
  maker.number("zero", 0);
  maker.number("otherwise", -7);
  maker.node("Greater", {"x", "zero"}, {"is_above"});
  maker.node("Log", {"x"}, {"log"});
  maker.node("Where", {"is_above", "log", "otherwise"}, {"y"});
  maker.output("y");
  EXPECT_EQ(output_of(maker, numbers({4}, {1, 0, -3, kInfinity})), (Values{0, -7, -7, kInfinity}));
}

TEST(ChosenValues, WhereByAKnownCondition) {
  for (const bool tensor_first : {true, false}) {
    ModelMaker maker;
    maker.input("x", {3});
    maker.integers("condition", {1, 0, 1});
    maker.number("least", -kInfinity);
    maker.node("Where",
               tensor_first ? std::vector<std::string>{"condition", "x", "least"}
                            : std::vector<std::string>{"condition", "least", "x"},
               {"y"});
    maker.output("y");
    const Values y = output_of(maker, numbers({3}, {kNan, 2, kInfinity}));
    const Values wanted = tensor_first ? Values{kNan, -kInfinity, kInfinity} : Values{-kInfinity, 2, -kInfinity};
    EXPECT_THAT(y, Pointwise(NanSensitiveFloatEq(), wanted));
  }
}

TEST(ChosenValues, WhereGrowsAllThree) {
  ModelMaker maker;
  maker.input("x", {2, 1, 3});
  maker.weights("other", {4, 1}, {10, 20, 30, 40});
  maker.integers("condition", {1, 0, 1});
  maker.node("Where", {"condition", "x", "other"}, {"y"});
  maker.output("y");
  const Values y = output_of(maker, numbers({2, 1, 3}, {1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(y.size(), 24U);
  EXPECT_EQ(Values(y.begin(), y.begin() + 6), (Values{1, 10, 3, 1, 20, 3}));
  EXPECT_EQ(Values(y.end() - 3, y.end()), (Values{4, 40, 6}));
}

TEST(ChosenValues, ATriangleOfAnInfiniteMatrix) {
  ModelMaker maker;
  maker.input("x", {2, 2});
  set(maker.node("Trilu", {"x"}, {"y"}), "upper", std::int64_t{0});
  maker.output("y");
  EXPECT_EQ(output_of(maker, numbers({2, 2}, {1, kInfinity, kInfinity, 3})), (Values{1, 0, kInfinity, 3}));
}

struct Ranking {
  std::int64_t largest;
  Values x, values, places;
};

TEST(ChosenValues, TheLargestOfInfiniteOnes) {
  const std::vector<Ranking> rankings = {
      {1, {1, -kInfinity, -kInfinity, 0}, {1, 0, -kInfinity}, {0, 3, 1}},
      {1, {-kInfinity, -kInfinity, kInfinity, kInfinity}, {kInfinity, kInfinity, -kInfinity}, {2, 3, 0}},
      {0, {kInfinity, 1, kInfinity, kInfinity}, {1, kInfinity, kInfinity}, {1, 0, 2}},
  };
  for (const Ranking& ranking : rankings) {
    ModelMaker maker;
    maker.input("x", {4});
    maker.integers("k", {3});
    set(maker.node("TopK", {"x", "k"}, {"values", "places"}), "largest", ranking.largest);
    maker.output("values");
    maker.output("places");
    const auto found = outputs_of(maker, {numbers({4}, ranking.x)});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0], ranking.values);
    EXPECT_EQ(found[1], ranking.places);
  }
}

TEST(ChosenValues, ScatterReplacesInfiniteElements) {
  for (const char* reduction : {"none", "mul"}) {
    ModelMaker maker(18);
    maker.input("x", {3});
    maker.integers("places", {1});
    maker.weights("updates", {1}, {0.5F});
    set(maker.node("ScatterElements", {"x", "places", "updates"}, {"y"}), "reduction", std::string(reduction));
    maker.output("y");
    const bool replaces = std::string(reduction) == "none";
    const Values y = output_of(maker, numbers({3}, {-kInfinity, replaces ? kNan : 4.0F, 1}));
    EXPECT_EQ(y, (Values{-kInfinity, replaces ? 0.5F : 2.0F, 1})) << reduction;
  }
}

TEST(ChosenValues, LogarithmsOfSumsOfInfiniteExponentials) {
  ModelMaker maker(18);
  maker.input("x", {4, 2});
  maker.integers("axes", {1});
  set(maker.node("ReduceLogSumExp", {"x", "axes"}, {"y"}), "keepdims", std::int64_t{0});
  maker.output("y");
  const Values y =
      output_of(maker, numbers({4, 2}, {kInfinity, 1, -kInfinity, -kInfinity, -kInfinity, 3, 1000, -1000}));
  EXPECT_THAT(y, Pointwise(NanSensitiveFloatEq(), Values{kInfinity, -kInfinity, 3, 1000}));
}

}  // namespace
}  // namespace sluice::tests
