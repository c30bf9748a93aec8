// How many bytes each residency of a plan takes, and where each persistent tensor begins the step. The rules of the
// plan format (docs/plan-format.md) are written here a second time on purpose. The builder and the lowering have
// geometry of their own (rooms.hpp). If it were shared, one wrong rule would pass all three: tensors would lie on top
// of each other, and the proof would say that they do not. So this header uses only the data of plan.hpp, and nobody
// outside this folder uses this header.
//
//   a residency             bytes up to a multiple of 4,096, at a multiple of 4,096: transfers move whole pages
//   small, in tier 0,       bytes up to a multiple of 64, at a multiple of 64: such tensors share pages
//   and never moved
//   a member of a block     behind the one before it, which takes its bytes up to a multiple of 64; the last one takes
//                           all that is left of its page; the first begins at a multiple of 4,096
//
// Cost: linear. Thread-safe.
#pragma once

#include <vector>

#include "sluice/plan/plan.hpp"

namespace sluice::plan::verify {

inline constexpr Bytes kPage = 4096;
inline constexpr Bytes kMostArena = Bytes{1} << 47;  // what a process can address

// Bytes at the end of the fast arena that no residency may use: 512 KiB for each tier in which something lies encoded.
Bytes staging(const Plan& plan);

// What a residency takes from its offset on, and what the offset must be a multiple of.
struct Extent {
  Bytes bytes = 0;
  Bytes alignment = 0;
};

// By member: bytes from the block's first one. Members and their tensors must exist.
std::vector<Bytes> member_distances(const graph::Graph& graph, const Plan& plan, const Block& block);

// By ResidencyIndex. Tensors must exist, and blocks be well-formed; migrations may be anything.
std::vector<Extent> extents(const graph::Graph& graph, const Plan& plan);

// The memory of tier 0 at these addresses, which must be those of an arena or of one stitch. In other tiers addresses
// are memory.
std::vector<Interval<Bytes>> memory_at(const Plan& plan, memory::TierId tier, Interval<Bytes> addresses);

// By TensorId: the residencies in which a persistent tensor begins the step, which contain op 0 and which no migration
// issued before op 0 fills. Empty for other tensors. Needs a well-formed plan.
std::vector<std::vector<ResidencyIndex>> step_beginnings(const graph::Graph& graph, const Plan& plan);

}  // namespace sluice::plan::verify
