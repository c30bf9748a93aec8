// How many bytes the parts of a plan take, for those who make plans and those who obey them. The verifier works this
// out by itself (verify/geometry.hpp) and must not include this header, so that it finds a rule that is wrong here.
#pragma once

#include <vector>

#include "sluice/plan/plan.hpp"

namespace sluice::plan {

// What a transfer of a tensor moves, and the room it takes where it comes from or goes to: whole pages, so that no page
// or disk block holds anything that does not move with it.
inline Bytes stored_bytes(const graph::Tensor& tensor) { return align_up(tensor.bytes, memory::kBlockAlignment); }

// The alignment that ops need for their operands: a cache line.
inline constexpr Bytes kOperandAlignment = 64;

// Where encoded bytes are made, on their way to one slow tier: two chunks at least, so that one can be made while
// another is under way. (Decoding needs no room: chunks are decoded where they have been read to.)
inline constexpr Bytes kLeastStagingBytes = 2 * memory::kEncodedChunkBytes;

// What no residency may use of the end of arena_bytes of the fast tier: that much for each slow tier in which something
// lies encoded.
Bytes staging_bytes(const Plan& plan);

// What a residency takes of its tier, and what its offset is a multiple of.
struct Room {
  Bytes bytes = 0;
  Bytes alignment = memory::kBlockAlignment;
};

// The room of a residency outside blocks: whole pages. But a tensor that is smaller than a page and stays in the fast
// tier, neither brought nor taken away by a migration, shares pages with others of its kind (Sentinel §IV-B packs small
// tensors).
inline Room room_for(const graph::Tensor& tensor, memory::TierId tier, bool migrates) {
  const bool shares = tier == memory::kFastTier && !migrates && tensor.bytes < memory::kBlockAlignment;
  const Bytes alignment = shares ? kOperandAlignment : memory::kBlockAlignment;
  return {align_up(tensor.bytes, alignment), alignment};
}

// By ResidencyIndex: whether a migration begins or ends there. Indices that do not exist are passed over.
std::vector<bool> migrating_residencies(const Plan& plan);

// By ResidencyIndex. Tensors must exist, and blocks be well-formed.
std::vector<Room> residency_rooms(const graph::Graph& graph, const Plan& plan);

// Which member of which block a residency is: -1 for none.
struct BlockPlace {
  std::int32_t block = -1;
  std::size_t member = 0;
};

// By ResidencyIndex. Indices that do not exist are passed over.
std::vector<BlockPlace> block_places(const Plan& plan);

// By member: the distance from the block's first byte. One more entry at the end: the bytes of the whole block.
std::vector<Bytes> block_offsets(const graph::Graph& graph, const Plan& plan, const Block& block);

// By TensorId, for persistent tensors: the residencies that contain op 0 and that no migration fills before op 0.
// A sound plan has exactly one for each.
std::vector<std::vector<ResidencyIndex>> start_residencies(const graph::Graph& graph, const Plan& plan);

// The bytes below which no plan can run every op with its operands in the fast tier: the largest op's operands.
Bytes largest_working_set(const graph::Graph& graph, graph::OpIndex* op = nullptr);

}  // namespace sluice::plan
