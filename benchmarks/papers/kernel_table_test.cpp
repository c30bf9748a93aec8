#include "benchmarks/papers/kernel_table.hpp"

#include <gtest/gtest.h>

namespace sluice::benchmarks::autotm {
namespace {

constexpr Fit kTableFit{0.12, 240e-6};

class MadeKernels : public ::testing::Test {
 protected:
  KernelTable table{read_kernels(SLUICE_TESTDATA "/made_kernels").value(), autotm_machine(), kTableFit};

  static KernelPart convolution(graph::Shape weights, std::int64_t pixels) {
    return {{"ConvolutionBias"},
            {{0, {2, 4, pixels, pixels}}, {1, std::move(weights)}, {kInside, {8}}},
            {{2, {2, 8, pixels, pixels}}}};
  }
  static KernelPart relu(graph::Shape shape) { return {{"Relu"}, {{0, shape}}, {{1, shape}}}; }
};

TEST_F(MadeKernels, AreReadWithTheirShapes) {
  const auto kernels = read_kernels(SLUICE_TESTDATA "/made_kernels");
  ASSERT_TRUE(kernels.ok()) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 7U);  // the one of 0 us has no ratio
  EXPECT_EQ(kernels->front().shapes, (std::vector<graph::Shape>{{2, 4, 8, 8}, {8, 4, 1, 7}, {8}, {2, 8, 8, 8}}));
  EXPECT_EQ(kernels->back().shapes, (std::vector<graph::Shape>{{}, {}, {}}));
}

TEST_F(MadeKernels, AreFoundByShapeAmongEqualBytes) {
  const TimedKernel wide = table.find(convolution({8, 4, 1, 7}, 8));
  const TimedKernel high = table.find(convolution({8, 4, 7, 1}, 8));
  EXPECT_EQ(wide.origin, Origin::kPublished);
  EXPECT_EQ(wide.kernel.id, 0);
  EXPECT_EQ(high.origin, Origin::kPublished);
  EXPECT_EQ(high.kernel.id, 1);
}

TEST_F(MadeKernels, OfEqualBytesDoWhereNoneHasTheShape) {
  const TimedKernel found = table.find(relu({1024}));
  EXPECT_EQ(found.origin, Origin::kPublished);
  EXPECT_EQ(found.kernel.id, 3);
}

TEST_F(MadeKernels, TheSecondNameIsTakenWhereTheFirstHasNone) {
  const PartOperand rows{0, {8}}, image{1, {2, 8, 8, 8}};
  const TimedKernel found =
      table.find({{"BatchNormTrainingRelu", "BatchNormTraining"}, {rows, rows, image}, {image, rows, rows}});
  EXPECT_EQ(found.origin, Origin::kPublished);
  EXPECT_EQ(found.kernel.id, 5);
}

TEST_F(MadeKernels, ConvolutionsAreScaledByFlopsFromTheNearest) {
  const TimedKernel found = table.find(convolution({8, 4, 1, 1}, 16));
  EXPECT_EQ(found.origin, Origin::kScaled);
  const double flops = 2 * 4 * 2 * 8 * 16 * 16, of_kernel_0 = 2 * 4 * 7 * 2 * 8 * 8 * 8;
  EXPECT_NEAR(found.kernel.placements.front().seconds, 100e-6 * flops / of_kernel_0, 1e-12);
  EXPECT_EQ(found.kernel.inputs.front(), 4 * 2 * 4 * 16 * 16);
}

TEST_F(MadeKernels, OthersAreScaledByBytes) {
  const TimedKernel found = table.find(relu({512}));
  EXPECT_EQ(found.origin, Origin::kScaled);
  EXPECT_NEAR(found.kernel.placements.front().seconds, 10e-6, 1e-12);
}

TEST(KernelTable, WithoutAKernelOfTheNameTakesTheMedianByByte) {
  std::vector<Kernel> kernels;
  for (const double nanoseconds : {4.0, 1.0, 2.0}) {
    kernels.push_back({.op = "Add", .inputs = {400}, .outputs = {600}, .placements = {{"DD", nanoseconds * 1e-6}}});
    kernels.back().shapes = {{100}, {150}};
  }
  const KernelTable table(kernels, autotm_machine(), kTableFit);
  const TimedKernel found = table.find({{"Softmax"}, {{0, {1000}}}, {{1, {500}}}});
  EXPECT_EQ(found.origin, Origin::kGuessed);
  EXPECT_NEAR(found.kernel.placements.front().seconds, 2e-9 * 6000, 1e-12);
}

TEST_F(MadeKernels, PublishedPlacementsAreTakenAsTheyAre) {
  const Kernel kernel = table.find(convolution({8, 4, 1, 7}, 8)).kernel;
  EXPECT_DOUBLE_EQ(table.seconds(kernel, "DDDP"), 400e-6);
  EXPECT_DOUBLE_EQ(table.seconds(kernel, "PDDD"), 150e-6);
  EXPECT_TRUE(is_published(kernel, "PDDP"));
  EXPECT_FALSE(is_published(kernel, "PPDP"));
}

TEST_F(MadeKernels, OtherPlacementsCostMoreThanTheirPublishedPart) {
  const Kernel kernel = table.find(convolution({8, 4, 1, 7}, 8)).kernel;
  const Seconds all = table.seconds(kernel, "PPPP");
  EXPECT_GE(all, 500e-6);
  EXPECT_LT(all, 510e-6);  // weights of 1 KiB
  // An output in Optane, by the rule.
  const Kernel other = table.find(convolution({8, 4, 7, 1}, 8)).kernel;
  EXPECT_GE(table.seconds(other, "DDDP"), 110e-6 + kTableFit.per_output);
  EXPECT_LT(table.seconds(other, "DDDP"), 120e-6 + kTableFit.per_output);
}

}  // namespace
}  // namespace sluice::benchmarks::autotm
