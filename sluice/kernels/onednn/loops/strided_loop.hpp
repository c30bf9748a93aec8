// The loop nest of an op whose operands broadcast or are reduced: neighbouring dimensions that all operands walk in the
// same way are joined, so that most ops become one, two or three long loops.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sluice/kernels/onednn/kernel/kernel.hpp"
#include "sluice/kernels/onednn/kernel/layout.hpp"

namespace sluice::kernels {

// The shape in which a layout is row-major: [N, C / 16, H, W, 16] for a blocked image, else the tensor's own, with
// leading ones up to `rank` dimensions. Of two ranks for one graph shape, both are in the order of memory.
graph::Shape stored_shape(const graph::Shape& shape, bool blocked, std::size_t rank);

// Layouts for operands that are broadcast against each other: blocked where the largest is and all others can follow
// (images of the same blocking, one value a channel, or without channels), else row-major.
struct BroadcastLayouts {
  bool blocked = false;
  std::vector<Layout> inputs;
  Layout output;
};
BroadcastLayouts broadcast_layouts(const KernelRequest& request);

// Levels of a walk over an iteration space, outermost first. Strides are in elements, of up to three operands; 0 where an
// operand has one element for all of the level.
struct WalkLevel {
  std::int64_t extent = 1;
  std::array<std::int64_t, 3> strides{};
};

// The walk over `space`, a row-major shape, for operands of up to three shapes of the same rank, whose extents are the
// space's or 1. At least two levels.
std::vector<WalkLevel> walk_over(const graph::Shape& space, const std::vector<graph::Shape>& operands);

}  // namespace sluice::kernels
