#include "sluice/kernels/onednn/interface/padding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace sluice::kernels {
namespace {

using Tag = dnnl::memory::format_tag;

// What a reorder from plain numbers leaves in `layout` over bytes that were 7s, beside the same cleared by us.
void expect_as_by_reorder(const Layout& layout) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  std::int64_t count = 1;
  for (const std::int64_t extent : dims_of(layout)) count *= extent;
  std::vector<float> plain(static_cast<std::size_t>(count));
  std::iota(plain.begin(), plain.end(), 1.0F);
  std::vector<float> stored(layout.get_size() / sizeof(float), 7.0F);
  const Layout rows(dims_of(layout), dnnl::memory::data_type::f32,
                    dims_of(layout).size() == 4 ? Tag::abcd : Tag::abcde);
  dnnl::memory from(rows, engine, plain.data()), to(layout, engine, stored.data());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  std::vector<float> dirty = stored;
  for (float& each : dirty) each = each == 0.0F ? 9.0F : each;
  Padding(layout).clear(dirty.data());
  EXPECT_EQ(dirty, stored);
}

TEST(Padding, IsWhatOneDnnKeepsZero) {
  constexpr auto kF32 = dnnl::memory::data_type::f32;
  expect_as_by_reorder({{2, 8, 3, 5}, kF32, Tag::nChw16c});
  expect_as_by_reorder({{2, 24, 3, 5}, kF32, Tag::nChw16c});
  expect_as_by_reorder({{20, 3, 3, 3}, kF32, Tag::OIhw16i16o});
  expect_as_by_reorder({{20, 21, 3, 3}, kF32, Tag::OIhw8i16o2i});
  expect_as_by_reorder({{3, 5, 4, 2, 2}, kF32, Tag::gOIhw16i16o});
}

TEST(Padding, IsNoneWhereBlocksAreWhole) {
  EXPECT_TRUE(Padding({{2, 16, 3, 5}, dnnl::memory::data_type::f32, Tag::nChw16c}).empty());
  EXPECT_TRUE(Padding({{2, 3, 3, 5}, dnnl::memory::data_type::f32, Tag::nchw}).empty());
}

}  // namespace
}  // namespace sluice::kernels
