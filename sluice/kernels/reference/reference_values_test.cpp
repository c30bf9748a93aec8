// The reference kernels against numbers worked out by hand or with a calculator: gradients that fit a function say
// nothing about whether it is the right function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "sluice/kernels/backends/backends.hpp"
#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::kernels {
namespace {

using Values = std::vector<float>;

struct Operand {
  graph::Shape shape;
  Values values;
};

// Runs one op on fp32 leaves; its outputs get the shapes given. A last leaf of integers may come behind.
std::vector<Values> run(graph::OpKind kind, const graph::Attributes& attributes, const std::vector<Operand>& inputs,
                        const std::vector<graph::Shape>& outputs, const std::optional<Operand>& integers = {},
                        const StepContext& context = {}) {
  testing::CaseBuilder builder("op");
  testing::NamedValues leaves;
  std::vector<graph::TensorId> input_ids, output_ids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    input_ids.push_back(builder.tensor("in" + std::to_string(i), inputs[i].shape));
    leaves["in" + std::to_string(i)] = inputs[i].values;
  }
  if (integers) {
    input_ids.push_back(builder.integers("integers", integers->shape, 100));
    leaves["integers"] = integers->values;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    output_ids.push_back(builder.tensor("out" + std::to_string(i), outputs[i]));
  builder.op(kind, attributes, input_ids, output_ids);
  const testing::OpCase op = builder.finish();
  const auto compiled = make_reference_backend()->compile(op.graph, 1).value();
  testing::GraphRunner runner(*compiled);
  const testing::NamedValues values = testing::run_case(op.graph, runner, leaves, context);
  std::vector<Values> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) results.push_back(values.at("out" + std::to_string(i)));
  return results;
}

auto near(const Values& values) { return ::testing::Pointwise(::testing::FloatNear(1e-5F), values); }

TEST(ReferenceValues, UnaryFunctions) {
  struct Row {
    graph::UnaryFunction function;
    float alpha, beta;
    Values expected;  // at -1.3, 0.4, 2.5
  };
  const std::vector<Row> rows = {
      {graph::UnaryFunction::kLinear, 2, 1, {-1.6F, 1.8F, 6}},
      {graph::UnaryFunction::kLeakyRelu, 0.2F, 0, {-0.26F, 0.4F, 2.5F}},
      {graph::UnaryFunction::kClip, 0, 2, {0, 0.4F, 2}},
      {graph::UnaryFunction::kElu, 0.7F, 0, {-0.5092277F, 0.4F, 2.5F}},
      {graph::UnaryFunction::kSigmoid, 0, 0, {0.2141650F, 0.5986877F, 0.9241418F}},
      {graph::UnaryFunction::kTanh, 0, 0, {-0.8617232F, 0.3799490F, 0.9866143F}},
      {graph::UnaryFunction::kSilu, 0, 0, {-0.2784145F, 0.2394751F, 2.3103545F}},
      {graph::UnaryFunction::kHardSigmoid, 1 / 6.0F, 0.5F, {0.2833333F, 0.5666667F, 0.9166667F}},
      {graph::UnaryFunction::kHardSwish, 0, 0, {-0.3683333F, 0.2266667F, 2.2916667F}},
      {graph::UnaryFunction::kGelu, 0, 0, {-0.1258406F, 0.2621687F, 2.4844758F}},
      {graph::UnaryFunction::kGeluTanh, 0, 0, {-0.1260710F, 0.2621612F, 2.4849157F}},
      {graph::UnaryFunction::kErf, 0, 0, {-0.9340079F, 0.4283924F, 0.9995930F}},
      {graph::UnaryFunction::kExp, 0, 0, {0.2725318F, 1.4918247F, 12.1824940F}},
      {graph::UnaryFunction::kAbs, 0, 0, {1.3F, 0.4F, 2.5F}},
      {graph::UnaryFunction::kPower, 2, 0, {1.69F, 0.16F, 6.25F}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(to_string(row.function));
    const graph::UnaryAttributes attributes{.function = row.function, .alpha = row.alpha, .beta = row.beta};
    EXPECT_THAT(run(graph::OpKind::kUnary, attributes, {{{3}, {-1.3F, 0.4F, 2.5F}}}, {{3}})[0], near(row.expected));
  }
}

// One row of pixels, two groups of one channel; taps two pixels apart; padding on the left only.
TEST(ReferenceValues, ConvolutionGroupedDilatedPaddedOnOneSide) {
  graph::ConvolutionAttributes attributes{.window = {.kernel_h = 1, .kernel_w = 2, .dilation_w = 2, .pad_left = 1},
                                          .groups = 2};
  const Operand x{{1, 2, 1, 4}, {1, 2, 3, 4, 10, 20, 30, 40}};
  const Operand w{{2, 1, 1, 2}, {1, 10, 2, -1}};
  const Operand bias{{2}, {0.5F, 0}};
  EXPECT_THAT(run(graph::OpKind::kConv2d, attributes, {x, w, bias}, {{1, 2, 1, 3}})[0],
              near({20.5F, 31.5F, 42.5F, -20, -10, 0}));
}

TEST(ReferenceValues, TransposedConvolutionSpreadsPixelsByTheStride) {
  const graph::ConvolutionAttributes attributes{.window = {.kernel_h = 1, .kernel_w = 3, .stride_w = 2, .pad_left = 1}};
  EXPECT_THAT(run(graph::OpKind::kConvTranspose2d, attributes, {{{1, 1, 1, 2}, {1, 10}}, {{1, 1, 1, 3}, {1, 2, 3}}},
                  {{1, 1, 1, 4}})[0],
              near({2, 13, 20, 30}));
}

TEST(ReferenceValues, AveragesCountPaddingWhereAsked) {
  graph::PoolAttributes attributes{.window = {.kernel_h = 1, .kernel_w = 3, .pad_left = 1, .pad_right = 1}};
  const Operand x{{1, 1, 1, 3}, {3, 6, 12}};
  EXPECT_THAT(run(graph::OpKind::kAvgPool, attributes, {x}, {{1, 1, 1, 3}})[0], near({4.5F, 7, 9}));
  attributes.count_padding = true;
  EXPECT_THAT(run(graph::OpKind::kAvgPool, attributes, {x}, {{1, 1, 1, 3}})[0], near({3, 7, 6}));
}

TEST(ReferenceValues, Norms) {
  const Operand x{{2, 1, 1, 2}, {1, 2, 4, 7}};
  const auto batch =
      run(graph::OpKind::kBatchNorm,
          graph::NormAttributes{.activation = graph::Activation::kRelu, .epsilon = 1e-5F, .momentum = 0.1F},
          {x, {{2, 1}, {2, 0.5F}}, {{2, 1}, {0.3F, 1.2F}}}, {x.shape, {2, 1}, {2, 1}});
  EXPECT_THAT(batch[0], near({0, 0, 0.9364354F, 3.5550475F}));
  EXPECT_THAT(batch[1], near({3.5F, 5.25F}));
  EXPECT_THAT(batch[2], near({0.62F, 1.78F}));
  const auto layer = run(graph::OpKind::kLayerNorm, graph::NormAttributes{.epsilon = 1e-5F},
                         {{{1, 4}, x.values}, {{2, 4}, {2, 2, 2, 1, 0, 0, 0, 1}}}, {{1, 4}, {2, 1}});
  EXPECT_THAT(layer[0], near({-2.1821768F, -1.3093061F, 0.4364354F, 2.5275238F}));
  EXPECT_THAT(layer[1], near({3.5F, 0.4364354F}));
  const graph::ResponseNormAttributes response{.channels = 3, .alpha = 0.5F, .beta = 0.75F, .bias = 1};
  EXPECT_THAT(run(graph::OpKind::kLocalResponseNorm, response, {{{1, 3, 1, 1}, {1, 2, 3}}}, {{1, 3, 1, 1}})[0],
              near({0.6347006F, 0.8107201F, 1.2637742F}));
}

TEST(ReferenceValues, LstmCell) {
  const auto cell = run(
      graph::OpKind::kLstmCell, graph::RecurrentAttributes{.state = true},
      {{{1, 4}, {0.5F, -0.3F, 0.8F, 0.1F}}, {{1, 1}, {0.2F}}, {{1, 1}, {-0.4F}}, {{4, 1}, {0.3F, -0.5F, 0.7F, 0.9F}}},
      {{1, 1}, {1, 1}, {1, 4}});
  EXPECT_THAT(cell[0], near({0.1697693F}));
  EXPECT_THAT(cell[1], near({0.3074091F}));
  EXPECT_THAT(cell[2], near({0.6364525F, 0.4013123F, 0.7352223F, 0.5695462F}));
}

TEST(ReferenceValues, SoftmaxScalesAndHidesTheFuture) {
  const Operand x{{3, 3}, {1, 2, 3, 1, 2, 3, 1, 2, 3}};
  const Values all{0.1863237F, 0.3071959F, 0.5064804F};
  const Values first_two{0.3775407F, 0.6224593F, 0};
  const Values y =
      run(graph::OpKind::kSoftmax, graph::SoftmaxAttributes{.factor = 0.5F, .causal = true}, {x}, {x.shape})[0];
  EXPECT_THAT(Values(y.begin(), y.begin() + 3), near({1, 0, 0}));
  EXPECT_THAT(Values(y.begin() + 3, y.begin() + 6), near(first_two));
  EXPECT_THAT(Values(y.begin() + 6, y.end()), near(all));
  EXPECT_THAT(
      run(graph::OpKind::kSoftmax, graph::SoftmaxAttributes{.factor = 0.5F}, {{{1, 3}, {1, 2, 3}}}, {{1, 3}})[0],
      near(all));
}

TEST(ReferenceValues, LossesLeaveHiddenLabelsOut) {
  const Operand logits{{3, 3}, {1, 2, 3, 9, 9, 9, 0.5F, -1, 0}};
  const auto loss = run(graph::OpKind::kSoftmaxCrossEntropy, {}, {logits}, {{1}, {3, 3}}, Operand{{3}, {0, -1, 2}});
  EXPECT_THAT(loss[0], near({1.7558683F}));
  EXPECT_THAT(
      run(graph::OpKind::kSigmoidCrossEntropy, graph::TargetAttributes{.target = 0.9F}, {{{2}, {-2, 0.7F}}}, {{1}})[0],
      near({(1.9269280F + 0.4731860F) / 2}));
}

// Two steps with gradients 0.3 and -0.2 from w = 0.5, learning rate 0.1, decay 0.01.
TEST(ReferenceValues, AdamAndAdamW) {
  for (const bool decoupled : {false, true}) {
    const graph::UpdateAttributes attributes{
        .epsilon = 1e-8F, .momentum = 0.9F, .weight_decay = 0.01F, .beta2 = 0.999F, .decoupled = decoupled};
    Values w{0.5F}, first{0}, second{0};
    for (StepContext context{.learning_rate = 0.1F}; context.step < 2; ++context.step) {
      const auto result = run(graph::OpKind::kAdamUpdate, attributes,
                              {{{1}, w}, {{1}, {context.step == 0 ? 0.3F : -0.2F}}, {{1}, first}, {{1}, second}},
                              {{1}, {1}, {1}}, {}, context);
      w = result[0];
      first = result[1];
      second = result[2];
    }
    EXPECT_THAT(w, near({decoupled ? 0.3846485F : 0.3838820F}));
    EXPECT_THAT(first, near({decoupled ? 0.007F : 0.00785F}));
    EXPECT_THAT(second, near({decoupled ? 0.00012991F : 0.00013135F}));
  }
}

TEST(ReferenceValues, DropoutFollowsTheSharedDraws) {
  const graph::DropoutAttributes attributes{.rate = 0.25F, .stream = 9};
  const StepContext context{.step = 4, .seed = 3};
  const Values x(1000, 1);
  const Values y = run(graph::OpKind::kDropout, attributes, {{{1000}, x}}, {{1000}}, {}, context)[0];
  const auto dropped = std::count(y.begin(), y.end(), 0.0F);
  EXPECT_NEAR(static_cast<double>(dropped), 250, 50);
  EXPECT_EQ(std::ssize(y) - dropped, std::count(y.begin(), y.end(), 1 / 0.75F));
  EXPECT_EQ(y, run(graph::OpKind::kDropout, attributes, {{{1000}, x}}, {{1000}}, {}, context)[0]);
  EXPECT_NE(y, run(graph::OpKind::kDropout, attributes, {{{1000}, x}}, {{1000}}, {}, {.step = 5, .seed = 3})[0]);
}

}  // namespace
}  // namespace sluice::kernels
