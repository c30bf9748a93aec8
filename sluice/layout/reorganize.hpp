// Data reorganisation (Sentinel §IV-B): which tensors lie together on pages, so that a page holds what is moved, kept
// and freed together.
//
//   (1) short-lived tensors of one layer share pages;
//   (2) long-lived tensors that live in exactly the same layers lie one after the other, those with most accesses
//       first;
//   (3) other long-lived tensors never share a page;
//   (4) long- and short-lived tensors never share a page.
// What is there before training starts (persistent tensors, inputs) never shares a page either. "Layers" are the layer
// spans of liveness.hpp.
//
// Our own: short-lived tensors of one layer that are not live together share bytes too (a best-fit heap inside the
// block); the paper says only that their space is reused.
#pragma once

#include <span>
#include <vector>

#include "sluice/layout/page_layout.hpp"
#include "sluice/profile/access_profile.hpp"

namespace sluice::layout {

enum class BlockKind {
  kShortLived,  // of one layer
  kLongLived,   // of exactly the same layers
  kPersistent,  // used in exactly the same layers
  kAlone,       // one tensor that was there before training
};

// Tensors that lie together on pages of their own.
struct TensorBlock {
  BlockKind kind = BlockKind::kAlone;
  Interval<graph::OpIndex> ops;          // from the first op that uses one of them to after the last; persistent: all
  std::vector<graph::TensorId> tensors;  // short-lived: by first use; long-lived: most accesses first
  std::vector<Bytes> offsets;            // of each, from the block's begin: multiples of 64
  Bytes bytes = 0;                       // whole pages
};

// Tensors that are there before training starts.
enum class PersistentTensors {
  kAlone,          // the paper: each on pages of its own, since by the time it is profiled it cannot be moved
  kByLayersOfUse,  // ours: those used in exactly the same layers are packed like (2); inputs stay alone
};

struct ReorganizeOptions {
  Bytes page_bytes = profile::kPageBytes;  // a multiple of 4 KiB
  PersistentTensors persistent = PersistentTensors::kByLayersOfUse;
};

// Each tensor that has bytes and is used is in one block. `accesses` by TensorId, or empty: then the number of ops that
// use a tensor stands for its accesses. O(n log n).
std::vector<TensorBlock> reorganize(const graph::Graph& graph, const graph::Liveness& liveness,
                                    std::span<const profile::TensorAccesses> accesses,
                                    const ReorganizeOptions& options);

// The layer spans whose ops use a tensor, ascending.
std::vector<int> spans_of_use(const graph::Liveness& liveness, graph::TensorId tensor);

// Blocks in virtual memory: a region at offset 0 that the short-lived blocks of all layers use in turn (§IV-C), the
// other blocks above it, sharing pages only with blocks that are never live with them. O(n^2) in blocks at worst.
PageLayout block_layout(const graph::Graph& graph, std::span<const TensorBlock> blocks);

PageLayout reorganized_layout(const graph::Graph& graph, const graph::Liveness& liveness,
                              std::span<const profile::TensorAccesses> accesses, const ReorganizeOptions& options);

}  // namespace sluice::layout
