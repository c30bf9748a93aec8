// What a memory descriptor of oneDNN says, for versions 2 and 3 alike.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>
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

// The same dimensions and strides in another type, with other inner blocks. Nothing: version 3, which makes layouts by the names
// of its formats alone, has none for these; it costs a look at each of them, about 30 us.
std::optional<Layout> with_blocks(const Layout& layout, dnnl::memory::data_type type, const std::vector<Block>& inner);

}  // namespace sluice::kernels
