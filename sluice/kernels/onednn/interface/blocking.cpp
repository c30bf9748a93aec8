#include "sluice/kernels/onednn/interface/blocking.hpp"

#include <algorithm>
#include <cstddef>

namespace sluice::kernels {

#if DNNL_VERSION_MAJOR >= 3

dnnl::memory::data_type type_of(const Layout& layout) { return layout.get_data_type(); }

std::vector<std::int64_t> dims_of(const Layout& layout) { return layout.get_dims(); }

std::vector<std::int64_t> padded_dims_of(const Layout& layout) { return layout.get_padded_dims(); }

bool is_blocked(const Layout& layout) { return layout.get_format_kind() == dnnl::memory::format_kind::blocked; }

Blocking blocking_of(const Layout& layout) {
  Blocking blocking{.strides = layout.get_strides(), .inner = {}};
  const std::vector<std::int64_t> extents = layout.get_inner_blks(), dims = layout.get_inner_idxs();
  for (std::size_t i = 0; i < extents.size(); ++i) blocking.inner.push_back({static_cast<int>(dims[i]), extents[i]});
  return blocking;
}

std::optional<Layout> with_blocks(const Layout& layout, dnnl::memory::data_type type, const std::vector<Block>& inner) {
  const std::vector<std::int64_t> dims = dims_of(layout);
  const Blocking wanted{.strides = blocking_of(layout).strides, .inner = inner};
  if (inner.empty()) return Layout(dims, type, wanted.strides);
  for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
    const Layout made(dims, type, static_cast<dnnl::memory::format_tag>(tag), /*allow_empty=*/true);
    if (made.get(/*allow_empty=*/true) != nullptr && is_blocked(made) && blocking_of(made) == wanted) return made;
  }
  return std::nullopt;
}

#else

dnnl::memory::data_type type_of(const Layout& layout) { return layout.data_type(); }

std::vector<std::int64_t> dims_of(const Layout& layout) {
  return {layout.data.dims, layout.data.dims + layout.data.ndims};
}

std::vector<std::int64_t> padded_dims_of(const Layout& layout) {
  return {layout.data.padded_dims, layout.data.padded_dims + layout.data.ndims};
}

bool is_blocked(const Layout& layout) { return layout.data.format_kind == dnnl_blocked; }

Blocking blocking_of(const Layout& layout) {
  const auto& stored = layout.data.format_desc.blocking;
  Blocking blocking{.strides = {stored.strides, stored.strides + layout.data.ndims}, .inner = {}};
  for (int i = 0; i < stored.inner_nblks; ++i)
    blocking.inner.push_back({static_cast<int>(stored.inner_idxs[i]), stored.inner_blks[i]});
  return blocking;
}

std::optional<Layout> with_blocks(const Layout& layout, dnnl::memory::data_type type, const std::vector<Block>& inner) {
  Layout result = layout;
  result.data.data_type = static_cast<dnnl_data_type_t>(type);
  auto& blocking = result.data.format_desc.blocking;
  std::fill_n(blocking.inner_blks, blocking.inner_nblks, 0);
  std::fill_n(blocking.inner_idxs, blocking.inner_nblks, 0);
  blocking.inner_nblks = static_cast<int>(inner.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    blocking.inner_idxs[i] = inner[i].dim;
    blocking.inner_blks[i] = inner[i].extent;
  }
  return result;
}

#endif

}  // namespace sluice::kernels
