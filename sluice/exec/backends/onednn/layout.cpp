#include "sluice/exec/backends/onednn/layout.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace sluice {
namespace {

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
  const auto& blocking = layout.data.format_desc.blocking;
  std::vector<dnnl_dim_t> outer(layout.data.padded_dims, layout.data.padded_dims + layout.data.ndims);
  std::vector<Level> levels;
  dnnl_dim_t stride = 1;
  for (int i = blocking.inner_nblks - 1; i >= 0; --i) {
    const auto dim = static_cast<int>(blocking.inner_idxs[i]);
    levels.push_back({dim, blocking.inner_blks[i], stride});
    stride *= blocking.inner_blks[i];
    outer[static_cast<std::size_t>(dim)] /= blocking.inner_blks[i];
  }
  for (int dim = 0; dim < layout.data.ndims; ++dim)
    levels.push_back({dim, outer[static_cast<std::size_t>(dim)], blocking.strides[dim]});
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

bool is_blocked(const Layout& layout) { return layout.data.format_kind == dnnl_blocked; }

bool equal_dims(const Layout& a, const Layout& b) {
  const auto end = a.data.dims + a.data.ndims;
  const auto padded_end = a.data.padded_dims + a.data.ndims;
  return a.data.ndims == b.data.ndims && std::equal(a.data.dims, end, b.data.dims) &&
         std::equal(a.data.padded_dims, padded_end, b.data.padded_dims);
}

Shape shape_of(const Layout& layout) { return {layout.data.dims, layout.data.dims + layout.data.ndims}; }

}  // namespace

dnnl::memory::data_type onednn_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return dnnl::memory::data_type::f32;
    case DType::kI32:
      return dnnl::memory::data_type::s32;
    case DType::kU8:
      return dnnl::memory::data_type::u8;
  }
  SLUICE_CHECK(false, "unknown dtype");
}

Layout plain_layout(const Shape& shape, DType dtype) {
  dnnl::memory::dims strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * shape[i - 1];
  return {shape, onednn_type(dtype), strides};
}

Layout any_layout(const Shape& shape) { return {shape, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any}; }

Layout preferred_image_layout(const Shape& shape) {
  constexpr std::int64_t kBlock = 16;
  if (shape.size() != 4 || shape[1] % kBlock != 0) return plain_layout(shape);
  return {shape, dnnl::memory::data_type::f32, dnnl::memory::format_tag::nChw16c};
}

Layout layout_like(const Layout& model, const Shape& shape) {
  using Tag = dnnl::memory::format_tag;
  for (const Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nhwc}) {
    if (same_bytes(model, {shape_of(model), model.data_type(), tag})) return {shape, dnnl::memory::data_type::f32, tag};
  }
  return plain_layout(shape);
}

Layout as_float(const Layout& layout) {
  Layout result = layout;
  result.data.data_type = dnnl_f32;
  return result;
}

bool same_bytes(const Layout& a, const Layout& b) {
  if (a == b) return true;
  return is_blocked(a) && is_blocked(b) && a.data.data_type == b.data.data_type && equal_dims(a, b) &&
         loop_nest(a) == loop_nest(b);
}

std::string layout_name(const Layout& layout) {
  if (!is_blocked(layout)) return "opaque";
  const Shape shape = shape_of(layout);
  const auto& blocking = layout.data.format_desc.blocking;
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return blocking.strides[a] > blocking.strides[b]; });
  if (blocking.inner_nblks == 0 && std::is_sorted(order.begin(), order.end())) return "plain";

  const auto blocked = [&](int dim) {
    return std::count(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks, dim) > 0;
  };
  std::string name;
  for (const int dim : order) name += static_cast<char>((blocked(dim) ? 'A' : 'a') + dim);
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    name += std::to_string(blocking.inner_blks[i]);
    name += static_cast<char>('a' + blocking.inner_idxs[i]);
  }
  return name;
}

}  // namespace sluice
