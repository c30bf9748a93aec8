#include "sluice/kernels/onednn/interface/padding.hpp"

#include <cstdint>

#include "sluice/base/as_index.hpp"

namespace sluice::kernels {
namespace {

// Where each index of dimension `dim` lies: within the inner blocks of the dimension, then from block to block.
std::vector<std::int64_t> offsets_along(int dim, std::int64_t padded, const Blocking& blocking) {
  std::vector<std::int64_t> offsets(as_index(padded), 0);
  std::int64_t inner_stride = 1;  // between neighbours of the block at hand, the innermost first
  std::int64_t done = 1;          // indices that lie within the blocks so far
  for (std::size_t i = blocking.inner.size(); i-- > 0;) {
    const auto [blocked, extent] = blocking.inner[i];
    if (blocked == dim) {
      for (std::int64_t index = 0; index < padded; ++index)
        offsets[as_index(index)] += index / done % extent * inner_stride;
      done *= extent;
    }
    inner_stride *= extent;
  }
  for (std::int64_t index = 0; index < padded; ++index)
    offsets[as_index(index)] += index / done * blocking.strides[as_index(dim)];
  return offsets;
}

}  // namespace

Padding::Padding(const Layout& layout) {
  if (!is_blocked(layout)) return;
  const std::vector<std::int64_t> dims = dims_of(layout), padded = padded_dims_of(layout);
  if (dims == padded) return;
  const Blocking blocking = blocking_of(layout);
  element_bytes_ = dnnl::memory::data_type_size(type_of(layout));
  for (std::size_t dim = 0; dim < dims.size(); ++dim) {
    dimensions_.push_back({dims[dim], offsets_along(static_cast<int>(dim), padded[dim], blocking)});
    if (dims[dim] < padded[dim]) filled_.push_back(dim);
  }
}

// The padding of dimension `filled`, whatever the others' indices are.
template <typename T>
void Padding::clear_elements(T* tensor, std::size_t filled) const {
  std::vector<std::size_t> index(dimensions_.size(), 0);
  const auto first = [&](std::size_t dim) { return dim == filled ? as_index(dimensions_[dim].extent) : 0; };
  for (std::size_t dim = 0; dim < index.size(); ++dim) index[dim] = first(dim);
  const Dimension& innermost = dimensions_.back();
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim + 1 < index.size(); ++dim) offset += dimensions_[dim].offsets[index[dim]];
    for (std::size_t i = index.back(); i < innermost.offsets.size(); ++i) tensor[offset + innermost.offsets[i]] = T{0};
    std::size_t dim = index.size() - 1;
    do {  // to the next row: counts the other indices up
      if (dim == 0) return;
      index[dim] = first(dim);
      --dim;
    } while (++index[dim] == dimensions_[dim].offsets.size());
  }
}

void Padding::clear(void* tensor) const {
  for (const std::size_t filled : filled_) {
    if (element_bytes_ == 4) {
      clear_elements(static_cast<std::uint32_t*>(tensor), filled);
    } else if (element_bytes_ == 2) {
      clear_elements(static_cast<std::uint16_t*>(tensor), filled);
    } else {
      clear_elements(static_cast<std::uint8_t*>(tensor), filled);
    }
  }
}

}  // namespace sluice::kernels
