// Memory layouts of oneDNN in the terms of this project: names, row-major forms, and when two layouts are the same
// bytes.
//
// A layout is a dnnl::memory::desc: dimensions, type and blocking. Convolutions on AVX-512 keep images as nChw16c: 16
// channels side by side, so that one vector register holds one pixel. The dimensions of a layout may differ from the
// tensor's: weights of a grouped convolution are [G, O / G, I / G, KH, KW], and a reshaped tensor has its reader's
// shape. But the elements in row-major order are always the tensor's. All functions are pure.
#pragma once

#include <string>

#include "sluice/graph/ops/tensor.hpp"
#include "sluice/kernels/onednn/interface/blocking.hpp"

namespace sluice::kernels {

inline Bytes bytes_of(const Layout& layout) { return static_cast<Bytes>(layout.get_size()); }

dnnl::memory::data_type onednn_type(graph::DType dtype);

Layout plain_layout(const graph::Shape& shape, graph::DType dtype = graph::DType::kF32);  // row-major
Layout any_layout(const graph::Shape& shape, graph::DType dtype = graph::DType::kF32);    // left to oneDNN to choose
Layout row_major_form(const Layout& layout);  // same dimensions and type, row-major
Layout row_major_form(const Layout& layout, dnnl::memory::data_type type);
bool is_plain(const Layout& layout);  // the bytes are those of its row-major form

// Channels side by side in a blocked image, [N, C, H, W] in nChw16c; the last block is padded with zeros.
constexpr std::int64_t kChannelBlock = 16;
Layout blocked_image_layout(const graph::Shape& shape, graph::DType dtype = graph::DType::kF32);
bool is_blocked_image(const Layout& layout);

// The layout for an image tensor that nothing else has decided: blocked where channels fill the blocks, else plain.
Layout preferred_image_layout(const graph::Shape& shape, graph::DType dtype = graph::DType::kF32);

// The layout of an image tensor of `shape` that is blocked in the same way as `model`, and of its type.
Layout layout_like(const Layout& model, const graph::Shape& shape);

// The dimensions and blocking of `layout` with another type: from a pooling workspace to the tensor it indexes.
Layout with_type(const Layout& layout, graph::DType dtype);

// bf16 weights have channels in pairs as their innermost block ("ABcd8b16a2b"); their fp32 gradients have no such pairs
// ("ABcd16b16a"). Turns the first layout into the second; into row-major where oneDNN 3 has no name for that.
Layout without_pairs(const Layout& layout);

// True if every element is at the same byte offset in both, e.g. [N, C, 1, 1] in nChw16c and in nchw, or two row-major
// layouts of as many elements.
bool same_bytes(const Layout& a, const Layout& b);

// oneDNN's tag spelling: dimensions by falling stride, upper case where blocked, then the blocks: "aBcd16b". Row-major
// is "plain"; what has no such form (masks packed in bits) is "opaque".
std::string layout_name(const Layout& layout);

}  // namespace sluice::kernels
