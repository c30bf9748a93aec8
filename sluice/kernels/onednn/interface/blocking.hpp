// What a memory descriptor of oneDNN says, for versions 2 and 3 alike.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <vector>

namespace sluice::kernels {

using Layout = dnnl::memory::desc;

// One of the blocks that a layout ends in: `extent` elements side by side along dimension `dim`.
struct Block {
  int dim;
  std::int64_t extent;
  bool operator==(const Block&) const = default;
};

// A layout of whole blocks: dimension `i` steps by `strides[i]` elements from block to block, and the inner blocks lie
// dense, the last with elements side by side.
struct Blocking {
  std::vector<std::int64_t> strides;
  std::vector<Block> inner;
  bool operator==(const Blocking&) const = default;
};

dnnl::memory::data_type type_of(const Layout& layout);
std::vector<std::int64_t> dims_of(const Layout& layout);         // the tensor's
std::vector<std::int64_t> padded_dims_of(const Layout& layout);  // what is stored: filled up to whole blocks
bool is_blocked(const Layout& layout);                           // has a Blocking; opaque layouts have none
Blocking blocking_of(const Layout& layout);                      // of one that is blocked

// The layout of these dimensions and type that is blocked so. Throws dnnl::error where oneDNN has no such format.
// Costs a look at each of oneDNN's formats, about 30 us, where there are inner blocks.
Layout layout_of(const std::vector<std::int64_t>& dims, dnnl::memory::data_type type, const Blocking& blocking);

}  // namespace sluice::kernels
