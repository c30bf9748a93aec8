#include "sluice/kernels/onednn/kernel/layout.hpp"

#include <algorithm>
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
  const auto& blocking = layout.data.format_desc.blocking;
  std::vector<dnnl_dim_t> outer(layout.data.padded_dims, layout.data.padded_dims + layout.data.ndims);
  std::vector<Level> levels;
  dnnl_dim_t stride = 1;
  for (int i = blocking.inner_nblks - 1; i >= 0; --i) {
    const auto dim = static_cast<int>(blocking.inner_idxs[i]);
    levels.push_back({dim, blocking.inner_blks[i], stride});
    stride *= blocking.inner_blks[i];
    outer[as_index(dim)] /= blocking.inner_blks[i];
  }
  for (int dim = 0; dim < layout.data.ndims; ++dim)
    levels.push_back({dim, outer[as_index(dim)], blocking.strides[dim]});
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

graph::Shape shape_of(const Layout& layout) { return {layout.data.dims, layout.data.dims + layout.data.ndims}; }

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
  return layout.data.ndims == 4 && same_bytes(layout, {shape_of(layout), layout.data_type(), Tag::nChw16c});
}

bool is_plain(const Layout& layout) {
  if (!is_blocked(layout)) return false;
  const Layout plain = row_major_form(layout);
  return equal_dims(layout, plain) && loop_nest(layout) == loop_nest(plain);
}

Layout layout_like(const Layout& model, const graph::Shape& shape) {
  for (const Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nhwc}) {
    if (model.data.ndims == 4 && same_bytes(model, {shape_of(model), model.data_type(), tag}))
      return {shape, model.data_type(), tag};
  }
  return row_major(shape, model.data_type());
}

Layout row_major_form(const Layout& layout) { return row_major_form(layout, layout.data_type()); }

Layout row_major_form(const Layout& layout, dnnl::memory::data_type type) { return row_major(shape_of(layout), type); }

Layout with_type(const Layout& layout, graph::DType dtype) {
  Layout result = layout;
  result.data.data_type = static_cast<dnnl_data_type_t>(onednn_type(dtype));
  return result;
}

Layout without_pairs(const Layout& layout) {
  Layout result = layout;
  auto& blocking = result.data.format_desc.blocking;
  const int last = blocking.inner_nblks - 1;
  if (last < 1 || blocking.inner_blks[last] != 2) return result;
  for (int i = 0; i < last; ++i) {
    if (blocking.inner_idxs[i] != blocking.inner_idxs[last]) continue;
    blocking.inner_blks[i] *= 2;
    blocking.inner_nblks = last;
    blocking.inner_blks[last] = 0;
    blocking.inner_idxs[last] = 0;
    break;
  }
  return result;
}

bool same_bytes(const Layout& a, const Layout& b) {
  if (a == b) return true;
  if (!is_blocked(a) || !is_blocked(b) || a.data.data_type != b.data.data_type) return false;
  if (equal_dims(a, b)) return loop_nest(a) == loop_nest(b);
  return a.get_size() == b.get_size() && is_plain(a) && is_plain(b);
}

std::string layout_name(const Layout& layout) {
  if (!is_blocked(layout)) return "opaque";
  const graph::Shape shape = shape_of(layout);
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

}  // namespace sluice::kernels
