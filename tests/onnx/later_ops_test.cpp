// Ops and forms that ONNX 1.12 has no tests for, against plain loops or against each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/onnx/forward_run.hpp"

namespace sluice::tests {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

template <typename Function>
Values mapped_by(const onnx::HostArray& x, const Function& function) {
  Values y;
  for (const float value : x.floats) y.push_back(static_cast<float>(function(double{value})));
  return y;
}

TEST(LaterOps, MishAndGelu) {
  const onnx::HostArray x = wave({2, 9});
  for (const char* op : {"Mish", "Gelu"}) {
    ModelMaker maker(20);
    maker.input("x", {2, 9});
    maker.node(op, {"x"}, {"y"});
    maker.output("y");
    const bool mish = std::string(op) == "Mish";
    const Values wanted = mapped_by(x, [&](double v) {
      return mish ? v * std::tanh(std::log1p(std::exp(v))) : v / 2 * (1 + std::erf(v / std::sqrt(2.0)));
    });
    EXPECT_THAT(output_of(maker, x), Pointwise(FloatNear(1e-5F), wanted)) << op;
  }
}

// Scale and shift are the channels' from opset 21 on; before, the groups'.
TEST(LaterOps, GroupNormOfChannelsAndOfGroups) {
  const onnx::HostArray x = wave({2, 6, 5});
  for (const std::int64_t opset : {18, 21}) {
    const std::int64_t count = opset == 21 ? 6 : 3;
    ModelMaker maker(opset);
    maker.input("x", {2, 6, 5});
    maker.weights("scale", {count});
    maker.weights("shift", {count});
    set(maker.node("GroupNormalization", {"x", "scale", "shift"}, {"y"}), "num_groups", std::int64_t{3});
    maker.output("y");
    const Values scale = maker.values("scale"), shift = maker.values("shift");
    Values wanted;
    for (std::size_t row = 0; row < 6; ++row) {  // sample and group
      const auto first = x.floats.begin() + static_cast<std::ptrdiff_t>(10 * row);
      const double mean = std::accumulate(first, first + 10, 0.0) / 10;
      double variance = 0;
      for (auto it = first; it != first + 10; ++it) variance += (*it - mean) * (*it - mean) / 10;
      for (std::size_t i = 0; i < 10; ++i) {
        const std::size_t group = row % 3;
        const std::size_t which = opset == 21 ? 2 * group + i / 5 : group;
        const double unit = (first[static_cast<std::ptrdiff_t>(i)] - mean) / std::sqrt(variance + 1e-5);
        wanted.push_back(static_cast<float>(unit * scale[which] + shift[which]));
      }
    }
    EXPECT_THAT(output_of(maker, x), Pointwise(FloatNear(1e-4F), wanted)) << opset;
  }
}

TEST(LaterOps, NormByRootMeanSquare) {
  const onnx::HostArray x = wave({3, 4});
  ModelMaker maker(21);
  maker.input("x", {3, 4});
  maker.weights("scale", {4});
  maker.node("RMSNormalization", {"x", "scale"}, {"y"});
  maker.output("y");
  const Values scale = maker.values("scale");
  Values wanted;
  for (std::size_t i = 0; i < 12; ++i) {
    double squares = 0;
    for (std::size_t k = 0; k < 4; ++k) squares += x.floats[i / 4 * 4 + k] * x.floats[i / 4 * 4 + k] / 4;
    wanted.push_back(static_cast<float>(x.floats[i] / std::sqrt(squares + 1e-5) * scale[i % 4]));
  }
  EXPECT_THAT(output_of(maker, x), Pointwise(FloatNear(1e-5F), wanted));
}

TEST(LaterOps, CropsAndPadsAroundTheMiddle) {
  for (const auto& [extent, wanted] :
       {std::pair<std::int64_t, Values>{4, {1, 2, 3, 4}}, {10, {0, 0, 1, 2, 3, 4, 5, 6, 0, 0}}}) {
    onnx::HostArray x = onnx::filled(graph::Shape{7}, 0.0F);
    std::iota(x.floats.begin(), x.floats.end(), 0.0F);
    ModelMaker maker(18);
    maker.input("x", {7});
    maker.integers("shape", {extent});
    maker.node("CenterCropPad", {"x", "shape"}, {"y"});
    maker.output("y");
    EXPECT_EQ(output_of(maker, x), wanted);
  }
}

// Overlapping blocks of 2 x 2 of a 3 x 3 image: the middle is in all four.
TEST(LaterOps, ColumnsAddUpToAnImage) {
  ModelMaker maker(18);
  maker.input("x", {1, 4, 4});
  maker.integers("image", {3, 3});
  maker.integers("block", {2, 2});
  maker.node("Col2Im", {"x", "image", "block"}, {"y"});
  maker.output("y");
  EXPECT_EQ(output_of(maker, onnx::filled(graph::Shape{1, 4, 4}, 1.0F)), (Values{1, 2, 1, 2, 4, 2, 1, 2, 1}));
}

constexpr std::int64_t kSteps = 4, kBatch = 2, kFeatures = 3, kHidden = 2;

struct RecurrentOp {
  const char* name;
  std::int64_t gates;
};

// A model of one node with some of the directions' weights: all of them, or those of one.
void make_recurrence(ModelMaker& maker, const RecurrentOp& op, const std::string& direction, std::size_t first) {
  const auto count = static_cast<std::int64_t>(direction == "bidirectional" ? 2 : 1);
  const auto weights = [&](const std::string& name, graph::Shape shape) {
    const std::int64_t size = graph::element_count(shape);
    Values values;
    for (std::int64_t i = 0; i < count * size; ++i) {
      const auto at = static_cast<float>(static_cast<std::int64_t>(first) * size + i);
      values.push_back(0.5F * std::sin(1.3F * at + static_cast<float>(name.size())));
    }
    shape.insert(shape.begin(), count);
    maker.weights(name, shape, values);
  };
  maker.input("x", {kSteps, kBatch, kFeatures});
  weights("w", {op.gates * kHidden, kFeatures});
  weights("rr", {op.gates * kHidden, kHidden});
  weights("bbb", {2 * op.gates * kHidden});
  weights("hhhh", {kBatch, kHidden});
  std::vector<std::string> inputs = {"x", "w", "rr", "bbb", "", "hhhh"};
  if (std::string(op.name) == "LSTM") {
    weights("ccccc", {kBatch, kHidden});
    inputs.emplace_back("ccccc");
  }
  ::onnx::NodeProto& node = maker.node(op.name, inputs, {"y", "last"});
  set(node, "direction", direction);
  set(node, "hidden_size", kHidden);
  maker.output("y");
  maker.output("last");
}

onnx::HostArray turned_in_time(const onnx::HostArray& x) {
  onnx::HostArray y = x;
  const std::size_t step = x.floats.size() / kSteps;
  for (std::size_t i = 0; i < x.floats.size(); ++i) y.floats[i] = x.floats[(kSteps - 1 - i / step) * step + i % step];
  return y;
}

// [steps, directions, row] without the other direction.
Values one_way(const Values& y, std::size_t way) {
  constexpr std::size_t kRow = kBatch * kHidden;
  Values result;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i / kRow % 2 == way) result.push_back(y[i]);
  }
  return result;
}

class Recurrences : public ::testing::TestWithParam<RecurrentOp> {};

TEST_P(Recurrences, OfBothDirectionsAreOneOfEach) {
  const onnx::HostArray x = wave({kSteps, kBatch, kFeatures});
  ModelMaker both, forward, reverse;
  make_recurrence(both, GetParam(), "bidirectional", 0);
  make_recurrence(forward, GetParam(), "forward", 0);
  make_recurrence(reverse, GetParam(), "reverse", 1);
  const auto together = outputs_of(both, {x});
  const auto there = outputs_of(forward, {x});
  const auto back = outputs_of(reverse, {x});
  ASSERT_EQ(together.size(), 2U);
  EXPECT_THAT(one_way(together[0], 0), Pointwise(FloatNear(1e-6F), there[0]));
  EXPECT_THAT(one_way(together[0], 1), Pointwise(FloatNear(1e-6F), back[0]));
  EXPECT_THAT(one_way(together[1], 0), Pointwise(FloatNear(1e-6F), there[1]));
  EXPECT_THAT(one_way(together[1], 1), Pointwise(FloatNear(1e-6F), back[1]));
}

TEST_P(Recurrences, BackwardsAreForwardsOfTurnedTime) {
  const onnx::HostArray x = wave({kSteps, kBatch, kFeatures});
  ModelMaker forward, reverse;
  make_recurrence(forward, GetParam(), "forward", 0);
  make_recurrence(reverse, GetParam(), "reverse", 0);
  const auto there = outputs_of(forward, {turned_in_time(x)});
  const auto back = outputs_of(reverse, {x});
  ASSERT_EQ(back.size(), 2U);
  onnx::HostArray turned = onnx::filled(graph::Shape{kSteps, kBatch, kHidden}, 0.0F);
  turned.floats = there[0];
  EXPECT_THAT(back[0], Pointwise(FloatNear(1e-6F), turned_in_time(turned).floats));
  EXPECT_THAT(back[1], Pointwise(FloatNear(1e-6F), there[1]));
}

INSTANTIATE_TEST_SUITE_P(Ops, Recurrences,
                         ::testing::Values(RecurrentOp{"LSTM", 4}, RecurrentOp{"GRU", 3}, RecurrentOp{"RNN", 1}),
                         [](const auto& tested) { return tested.param.name; });

// Token ids are compared, turned into numbers and counted.
TEST(LaterOps, MasksFromTokenIds) {
  ModelMaker maker;
  maker.input("ids", {2, 3}, ::onnx::TensorProto::INT64);
  maker.integers("pad", {0});
  maker.integers("axes", {1});
  maker.node("Equal", {"ids", "pad"}, {"is_pad"});
  maker.node("Not", {"is_pad"}, {"is_word"});
  set(maker.node("Cast", {"is_word"}, {"mask"}), "to", std::int64_t{::onnx::TensorProto::FLOAT});
  maker.node("ReduceSum", {"mask", "axes"}, {"words"});
  maker.output("words");
  onnx::HostArray ids = onnx::filled(graph::Shape{2, 3}, std::int64_t{0});
  ids.ints = {5, 7, 0, 9, 0, 0};
  EXPECT_EQ(output_of(maker, ids), (Values{2, 1}));
}

}  // namespace
}  // namespace sluice::tests
