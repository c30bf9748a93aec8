#include "sluice/kernels/onednn/depthwise.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <vector>

#include "sluice/base/as_index.hpp"

namespace sluice::kernels {
namespace {

struct DepthwiseImages {
  std::int64_t samples, channels, height, width;

  std::size_t count() const { return as_index(samples * channels * height * width); }
  // In blocks of 16 channels.
  std::size_t at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    const std::int64_t block = n * (channels / kChannelBlock) + c / kChannelBlock;
    return as_index(((block * height + h) * width + w) * kChannelBlock + c % kChannelBlock);
  }
  graph::Shape shape() const { return {samples, channels, height, width}; }
};

std::vector<float> depthwise_operand(std::size_t count, float frequency) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i % 10'007) * frequency);
  return values;
}

struct DepthwiseCase {
  DepthwiseImages x;
  graph::Window window;

  DepthwiseImages dy() const {
    const auto extent = [](std::int64_t in, std::int64_t pads, std::int64_t kernel, std::int64_t dilation,
                           std::int64_t stride) { return (in + pads - (kernel - 1) * dilation - 1) / stride + 1; };
    return {x.samples, x.channels,
            extent(x.height, window.pad_top + window.pad_bottom, window.kernel_h, window.dilation_h, window.stride_h),
            extent(x.width, window.pad_left + window.pad_right, window.kernel_w, window.dilation_w, window.stride_w)};
  }
  KernelRequest request() const {
    KernelRequest request{
        .kind = graph::OpKind::kConv2dBackwardWeights,
        .attributes = graph::ConvolutionAttributes{.window = window},
        .inputs = {{.shape = x.shape()}, {.shape = dy().shape()}},
        .outputs = {{.shape = {x.channels, 1, window.kernel_h, window.kernel_w}}, {.shape = {x.channels}}}};
    request.as<graph::ConvolutionAttributes>().groups = x.channels;
    return request;
  }
};

void PrintTo(const DepthwiseCase& each, std::ostream* out) {
  *out << graph::to_string(each.x.shape()) << " by " << each.window.kernel_h << " x " << each.window.kernel_w;
}

// dw, then dbias.
std::vector<float> depthwise_results(const DepthwiseCase& each, std::vector<float> x, std::vector<float> dy,
                                     int threads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  const KernelPtr kernel = make_depthwise_backward_weights(each.request());
  const auto weights = as_index(each.x.channels * each.window.kernel_h * each.window.kernel_w);
  std::vector<float> results(weights + as_index(each.x.channels), NAN);
  EXPECT_EQ(kernel->outputs[0].get_size(), weights * sizeof(float));
  std::vector<void*> operands{x.data(), dy.data(), results.data(), results.data() + weights};
  EXPECT_TRUE(kernel->run(operands, {}).ok());
  omp_set_num_threads(before);
  return results;
}

double expected_depthwise(const DepthwiseCase& each, const std::vector<float>& x, const std::vector<float>& dy,
                          std::int64_t c, std::int64_t kh, std::int64_t kw) {
  const DepthwiseImages of_dy = each.dy();
  double sum = 0;
  for (std::int64_t n = 0; n < each.x.samples; ++n) {
    for (std::int64_t i = 0; i < of_dy.height; ++i) {
      for (std::int64_t j = 0; j < of_dy.width; ++j) {
        const std::int64_t h = i * each.window.stride_h - each.window.pad_top + kh * each.window.dilation_h;
        const std::int64_t w = j * each.window.stride_w - each.window.pad_left + kw * each.window.dilation_w;
        if (h < 0 || h >= each.x.height || w < 0 || w >= each.x.width) continue;
        sum += static_cast<double>(x[each.x.at(n, c, h, w)]) * static_cast<double>(dy[of_dy.at(n, c, i, j)]);
      }
    }
  }
  return sum;
}

class Depthwise : public ::testing::TestWithParam<DepthwiseCase> {};

TEST_P(Depthwise, GivesTheSumsOfItsDefinitionOnAnyNumberOfThreads) {
  const DepthwiseCase& each = GetParam();
  const std::vector<float> x = depthwise_operand(each.x.count(), 0.37F);
  const std::vector<float> dy = depthwise_operand(each.dy().count(), 0.53F);
  const std::vector<float> results = depthwise_results(each, x, dy, 1);
  std::size_t at = 0;
  const graph::Window& window = each.window;
  for (std::int64_t block = 0; block < each.x.channels / kChannelBlock; ++block) {
    for (std::int64_t tap = 0; tap < window.kernel_h * window.kernel_w; ++tap) {
      for (std::int64_t lane = 0; lane < kChannelBlock; ++lane) {
        const double expected =
            expected_depthwise(each, x, dy, block * kChannelBlock + lane, tap / window.kernel_w, tap % window.kernel_w);
        ASSERT_NEAR(static_cast<double>(results[at]), expected, 1e-4 + 1e-4 * std::abs(expected)) << "element " << at;
        ++at;
      }
    }
  }
  const DepthwiseImages of_dy = each.dy();
  for (std::int64_t c = 0; c < each.x.channels; ++c) {
    double sum = 0;
    for (std::int64_t n = 0; n < of_dy.samples; ++n) {
      for (std::int64_t p = 0; p < of_dy.height * of_dy.width; ++p) {
        sum += static_cast<double>(dy[of_dy.at(n, c, p / of_dy.width, p % of_dy.width)]);
      }
    }
    ASSERT_NEAR(static_cast<double>(results[at++]), sum, 1e-3) << "bias " << c;
  }
  for (const int threads : {2, 3, 7})
    EXPECT_EQ(depthwise_results(each, x, dy, threads), results) << threads << " threads";
}

graph::Window depthwise_window(std::int64_t h, std::int64_t w, std::int64_t stride, std::int64_t padding,
                               std::int64_t dilation) {
  graph::Window window = graph::square_window(h, stride, padding);
  window.kernel_w = w;
  window.dilation_h = window.dilation_w = dilation;
  return window;
}

INSTANTIATE_TEST_SUITE_P(Windows, Depthwise,
                         ::testing::Values(DepthwiseCase{{3, 32, 14, 14}, graph::square_window(5, 1, 2)},
                                           DepthwiseCase{{2, 16, 15, 13}, graph::square_window(5, 2, 2)},
                                           DepthwiseCase{{2, 16, 7, 7}, graph::square_window(7, 1, 3)},
                                           DepthwiseCase{{1, 48, 3, 2},
                                                         graph::square_window(7, 1, 3)},  // wider than the image
                                           DepthwiseCase{{2, 16, 20, 24}, depthwise_window(9, 11, 1, 5, 1)},
                                           DepthwiseCase{{2, 16, 20, 20}, depthwise_window(3, 4, 3, 0, 2)},
                                           DepthwiseCase{{2, 16, 9, 1}, depthwise_window(5, 1, 1, 2, 1)}));

TEST(DepthwiseChoice, IsTakenWhereOneDnnHasNoCodeOfItsOwn) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const KernelPtr wide = make_kernel(DepthwiseCase{{2, 32, 14, 14}, graph::square_window(7, 1, 3)}.request(), engine);
  EXPECT_FALSE(is_reference(*wide)) << wide->implementation;
  EXPECT_TRUE(is_blocked_image(wide->inputs[0]));
  KernelRequest few = DepthwiseCase{{2, 16, 14, 14}, graph::square_window(5, 1, 2)}.request();
  EXPECT_TRUE(is_known_depthwise(few));
  few.as<graph::ConvolutionAttributes>().groups = 4;
  EXPECT_FALSE(is_known_depthwise(few));
  few = DepthwiseCase{{2, 16, 14, 14}, graph::square_window(5, 1, 2)}.request();
  few.inputs[0].dtype = graph::DType::kBF16;
  EXPECT_FALSE(is_known_depthwise(few));
}

}  // namespace
}  // namespace sluice::kernels
