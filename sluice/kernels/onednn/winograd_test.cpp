#include "sluice/kernels/onednn/winograd.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "sluice/base/as_index.hpp"

namespace sluice::kernels {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<float, Free>;

Buffer waves(Bytes bytes, float frequency) {
  const auto size = as_index(align_up(std::max<Bytes>(bytes, 64), 4 * kKiB));
  Buffer buffer(static_cast<float*>(std::aligned_alloc(as_index(4 * kKiB), size)));
  for (std::size_t i = 0; i < size / sizeof(float); ++i) buffer.get()[i] = std::sin(static_cast<float>(i) * frequency);
  return buffer;
}

constexpr Bytes kLimit = 64 * kMiB;

KernelRequest convolution(std::int64_t samples) {
  const Layout x = blocked_image_layout({samples, 32, 16, 16});
  return {.kind = graph::OpKind::kConv2d,
          .attributes = graph::ConvolutionAttributes{.window = graph::square_window(3, 1, 1)},
          .inputs = {{.shape = {samples, 32, 16, 16}, .layout = x}, {.shape = {32, 32, 3, 3}}},
          .outputs = {{.shape = {samples, 32, 16, 16}}},
          .scratch = kLimit};
}

// y of the same x and w.
Buffer result(Kernel& kernel) {
  const auto bytes = [](const Layout& layout) { return static_cast<Bytes>(layout.get_size()); };
  const Buffer x = waves(bytes(kernel.inputs[0]), 0.37F);
  const Buffer w = waves(bytes(kernel.inputs[1]), 0.73F);
  Buffer y = waves(bytes(kernel.outputs[0]), 1.0F);
  const Buffer scratch = waves(kernel.workspace_bytes, 1.3F);
  std::vector<void*> operands{x.get(), w.get(), y.get(), scratch.get()};
  EXPECT_TRUE(kernel.run(operands, {}).ok());
  return y;
}

TEST(Winograd, IsTakenWhereItPays) {
  const KernelRequest request = convolution(8);
  EXPECT_TRUE(winograd_pays(request.as<graph::ConvolutionAttributes>(), request.inputs[0], request.outputs[0]));
  KernelRequest strided = request;
  strided.as<graph::ConvolutionAttributes>().window = graph::square_window(3, 2, 1);
  EXPECT_FALSE(winograd_pays(strided.as<graph::ConvolutionAttributes>(), request.inputs[0], request.outputs[0]));
  const KernelRequest few = convolution(1);
  EXPECT_FALSE(winograd_pays(few.as<graph::ConvolutionAttributes>(), few.inputs[0], few.outputs[0]));
}

TEST(Winograd, PartsOfABatchGiveWhatTheWholeGives) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const KernelPtr whole = make_kernel(convolution(32), engine);
  const auto make_part = [&](std::int64_t samples) {
    KernelPtr part = make_kernel(convolution(samples), engine);
    if (samples > 8) part->workspace_bytes = kLimit + 1;
    return part;
  };
  const KernelPtr parts = make_in_parts(convolution(32), {true, false, true}, kLimit, make_part);
  ASSERT_NE(parts, nullptr);
  EXPECT_LE(parts->workspace_bytes, kLimit);
  EXPECT_TRUE(same_bytes(parts->inputs[0], whole->inputs[0]));
  EXPECT_TRUE(same_bytes(parts->inputs[1], whole->inputs[1]));
  ASSERT_TRUE(same_bytes(parts->outputs[0], whole->outputs[0]));
  const Buffer expected = result(*whole);
  const Buffer actual = result(*parts);
  for (std::int64_t i = 0; i < 32 * 32 * 16 * 16; ++i) ASSERT_NEAR(actual.get()[i], expected.get()[i], 1e-4F) << i;
}

}  // namespace
}  // namespace sluice::kernels
