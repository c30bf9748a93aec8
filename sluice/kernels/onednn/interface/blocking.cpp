#include "sluice/kernels/onednn/interface/blocking.hpp"

#include <cstddef>

namespace sluice::kernels {

#if DNNL_VERSION_MAJOR >= 3

static bool exists(const Layout& layout) { return layout.get(/*allow_empty=*/true) != nullptr; }

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

#else

static bool exists(const Layout& layout) { return layout.data.ndims > 0; }

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

#endif

Layout layout_of(const std::vector<std::int64_t>& dims, dnnl::memory::data_type type, const Blocking& blocking) {
  if (blocking.inner.empty()) return {dims, type, blocking.strides};
  // A layout with inner blocks is made by its format's name only, in both versions.
  for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
    const Layout made(dims, type, static_cast<dnnl::memory::format_tag>(tag), /*allow_empty=*/true);
    if (exists(made) && is_blocked(made) && blocking_of(made) == blocking) return made;
  }
  throw dnnl::error(dnnl_unimplemented, "no format with these blocks");
}

}  // namespace sluice::kernels
