#include "sluice/kernels/onednn/kernel/layout.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "sluice/base/as_index.hpp"

namespace sluice::kernels {
namespace {

using Tag = dnnl::memory::format_tag;

// One level of the loop nest that walks a layout: `extent` steps of `stride` elements along dimension `dim`.
struct Level {
  int dim;
  dnnl_dim_t extent;
  dnnl_dim_t stride;
  bool operator==(const Level&) const = default;
};

// The loop nest of a blocked layout, outermost first, without levels of one step and with neighbours joined.
// Two layouts of the same dimensions put each element at the same offset exactly if their nests are equal.
std::vector<Level> loop_nest(const Layout& layout) {
  const Blocking blocking = blocking_of(layout);
  std::vector<dnnl_dim_t> outer = padded_dims_of(layout);
  std::vector<Level> levels;
  dnnl_dim_t stride = 1;
  for (std::size_t i = blocking.inner.size(); i-- > 0;) {
    const auto [dim, extent] = blocking.inner[i];
    levels.push_back({dim, extent, stride});
    stride *= extent;
    outer[as_index(dim)] /= extent;
  }
  for (std::size_t dim = 0; dim < outer.size(); ++dim)
    levels.push_back({static_cast<int>(dim), outer[dim], blocking.strides[dim]});
  std::erase_if(levels, [](const Level& level) { return level.extent == 1; });
  std::stable_sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.stride < b.stride; });

  std::vector<Level> joined;
  for (const Level& level : levels) {
    const bool continues = !joined.empty() && joined.back().dim == level.dim &&
                           joined.back().extent * joined.back().stride == level.stride;
    if (continues) {
      joined.back().extent *= level.extent;
    } else {
      joined.push_back(level);
    }
  }
  return joined;
}

bool equal_dims(const Layout& a, const Layout& b) {
  return dims_of(a) == dims_of(b) && padded_dims_of(a) == padded_dims_of(b);
}

Layout row_major(const graph::Shape& shape, dnnl::memory::data_type type) {
  dnnl::memory::dims strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * shape[i - 1];
  return {shape, type, strides};
}

}  // namespace

dnnl::memory::data_type onednn_type(graph::DType dtype) {
  switch (dtype) {
    case graph::DType::kF32:
      return dnnl::memory::data_type::f32;
    case graph::DType::kI32:
      return dnnl::memory::data_type::s32;
    case graph::DType::kU8:
      return dnnl::memory::data_type::u8;
    case graph::DType::kBF16:
      return dnnl::memory::data_type::bf16;
    case graph::DType::kF16:
      return dnnl::memory::data_type::f16;
  }
  SLUICE_CHECK(false, "unknown dtype");
}

Layout plain_layout(const graph::Shape& shape, graph::DType dtype) { return row_major(shape, onednn_type(dtype)); }

Layout any_layout(const graph::Shape& shape, graph::DType dtype) {
  return {shape, onednn_type(dtype), dnnl::memory::format_tag::any};
}

Layout preferred_image_layout(const graph::Shape& shape, graph::DType dtype) {
  if (shape.size() != 4 || shape[1] % kChannelBlock != 0) return plain_layout(shape, dtype);
  return {shape, onednn_type(dtype), dnnl::memory::format_tag::nChw16c};
}

Layout blocked_image_layout(const graph::Shape& shape, graph::DType dtype) {
  return {shape, onednn_type(dtype), dnnl::memory::format_tag::nChw16c};
}

bool is_blocked_image(const Layout& layout) {
  const graph::Shape shape = dims_of(layout);
  return shape.size() == 4 && same_bytes(layout, {shape, type_of(layout), Tag::nChw16c});
}

bool is_plain(const Layout& layout) {
  if (!is_blocked(layout)) return false;
  const Layout plain = row_major_form(layout);
  return equal_dims(layout, plain) && loop_nest(layout) == loop_nest(plain);
}

Layout layout_like(const Layout& model, const graph::Shape& shape) {
  const graph::Shape model_shape = dims_of(model);
  const dnnl::memory::data_type type = type_of(model);
  for (const Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nhwc}) {
    if (model_shape.size() == 4 && same_bytes(model, {model_shape, type, tag})) return {shape, type, tag};
  }
  return row_major(shape, type);
}

Layout row_major_form(const Layout& layout) { return row_major_form(layout, type_of(layout)); }

Layout row_major_form(const Layout& layout, dnnl::memory::data_type type) { return row_major(dims_of(layout), type); }

Layout with_type(const Layout& layout, graph::DType dtype) {
  const dnnl::memory::data_type type = onednn_type(dtype);
  if (type == type_of(layout)) return layout;
  const std::optional<Layout> result = with_blocks(layout, type, blocking_of(layout).inner);
  if (!result) throw dnnl::error(dnnl_unimplemented, "a layout that has no name, in another type");
  return *result;
}

Layout without_pairs(const Layout& layout) {
  std::vector<Block> inner = blocking_of(layout).inner;
  if (inner.size() < 2 || inner.back().extent != 2) return layout;
  const int paired = inner.back().dim;
  inner.pop_back();
  const auto whole = std::ranges::find(inner, paired, &Block::dim);
  if (whole == inner.end()) return layout;
  whole->extent *= 2;
  return with_blocks(layout, type_of(layout), inner).value_or(row_major_form(layout));
}

bool same_bytes(const Layout& a, const Layout& b) {
  if (a == b) return true;
  if (!is_blocked(a) || !is_blocked(b) || type_of(a) != type_of(b)) return false;
  if (equal_dims(a, b)) return loop_nest(a) == loop_nest(b);
  return a.get_size() == b.get_size() && is_plain(a) && is_plain(b);
}

std::string layout_name(const Layout& layout) {
  if (!is_blocked(layout)) return "opaque";
  const Blocking blocking = blocking_of(layout);
  std::vector<int> order(blocking.strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](int dim) { return blocking.strides[as_index(dim)]; });
  if (blocking.inner.empty() && std::ranges::is_sorted(order)) return "plain";

  std::string name;
  for (const int dim : order) {
    const bool blocked = std::ranges::find(blocking.inner, dim, &Block::dim) != blocking.inner.end();
    name += static_cast<char>((blocked ? 'A' : 'a') + dim);
  }
  for (const auto [dim, extent] : blocking.inner) {
    name += std::to_string(extent);
    name += static_cast<char>('a' + dim);
  }
  return name;
}

}  // namespace sluice::kernels
