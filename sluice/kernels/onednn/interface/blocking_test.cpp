#include "sluice/kernels/onednn/interface/blocking.hpp"

#include <gtest/gtest.h>

#include "sluice/kernels/onednn/interface/describe.hpp"
#include "sluice/kernels/onednn/kernel/layout.hpp"

namespace sluice::kernels {
namespace {

using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

TEST(Blocking, IsWhatTheFormatSays) {
  const Blocking blocking = blocking_of({{2, 24, 3, 5}, Type::f32, Tag::nChw16c});
  EXPECT_EQ(blocking.inner, (std::vector<Block>{{1, 16}}));
  EXPECT_EQ(blocking.strides, (std::vector<std::int64_t>{480, 240, 80, 16}));
  EXPECT_EQ(padded_dims_of({{2, 24, 3, 5}, Type::f32, Tag::nChw16c}), (std::vector<std::int64_t>{2, 32, 3, 5}));
}

TEST(Blocking, StaysInAnotherType) {
  for (const Tag tag : {Tag::nchw, Tag::nhwc, Tag::nChw16c, Tag::OIhw8i16o2i, Tag::OIhw16i16o2i}) {
    const Layout halves({32, 64, 3, 3}, Type::bf16, tag);
    EXPECT_EQ(with_type(halves, graph::DType::kF32), Layout({32, 64, 3, 3}, Type::f32, tag));
    EXPECT_EQ(with_type(with_type(halves, graph::DType::kF32), graph::DType::kBF16), halves);
  }
}

TEST(Blocking, OfWeightsLosesItsPairs) {
  const auto without = [](Tag tag) { return layout_name(without_pairs({{32, 64, 3, 3}, Type::f32, tag})); };
  EXPECT_EQ(without(Tag::OIhw8i16o2i), "ABcd16b16a");
  EXPECT_EQ(without(Tag::OIhw16i16o2i), kIsOneDnn3 ? "plain" : "ABcd32b16a");  // what convolutions by AMX want
  EXPECT_EQ(without(Tag::OIhw16i16o), "ABcd16b16a");
}

}  // namespace
}  // namespace sluice::kernels
