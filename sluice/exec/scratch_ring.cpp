#include "sluice/exec/scratch_ring.hpp"

#include <algorithm>
#include <cstring>

#include "sluice/base/random.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice {
namespace {

constexpr Bytes kPatternBytes = 256 * kKiB;  // small beside the caches, so that restoring leaves them to the tensors
constexpr Bytes kNowhere = -1;

Bytes room_of(const Graph& graph, const Op& op) {
  Bytes room = 0;
  for (const TensorId tensor : distinct_operands(op)) room += stored_bytes(graph.tensor(tensor));
  return room;
}

}  // namespace

Result<ScratchRing> ScratchRing::make(const Graph& graph, int threads, Bytes smallest_ring) {
  Bytes largest = 0;
  for (const Op& op : graph.ops()) largest = std::max(largest, room_of(graph, op));
  SLUICE_ASSIGN(Arena arena, Arena::map(std::max(smallest_ring, largest), "scratch"));
  return ScratchRing(graph, threads, std::move(arena));
}

ScratchRing::ScratchRing(const Graph& graph, int threads, Arena arena)
    : graph_(&graph),
      threads_(threads),
      arena_(std::move(arena)),
      pattern_(static_cast<std::size_t>(kPatternBytes) / sizeof(float)),
      position_(graph.tensors().size(), kNowhere) {
  for (std::size_t i = 0; i < pattern_.size(); ++i) pattern_[i] = random_normal(0, 0, i);
  Tensor everything;
  everything.bytes = arena_.bytes();
  fill(everything, arena_.data());
}

std::vector<void*> ScratchRing::place(const Op& op) {
  const Bytes room = room_of(*graph_, op);
  const Bytes left = arena_.bytes() - cursor_ % arena_.bytes();
  if (room > left) cursor_ += left;                           // so that no operand lies across the end of the ring
  const Bytes overwritten = cursor_ + room - arena_.bytes();  // before here, should every operand be placed anew
  for (const TensorId tensor : distinct_operands(op)) {
    if (position_[static_cast<std::size_t>(tensor)] < std::max<Bytes>(overwritten, 0)) place_tensor(tensor);
  }
  std::vector<void*> pointers;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const TensorId tensor : *operands) {
      pointers.push_back(arena_.data() + position_[static_cast<std::size_t>(tensor)] % arena_.bytes());
    }
  }
  return pointers;
}

void ScratchRing::place_tensor(TensorId id) {
  const Tensor& tensor = graph_->tensor(id);
  position_[static_cast<std::size_t>(id)] = cursor_;
  // Floats of some kind are there already, and touching them would make cold data warm.
  if (tensor.dtype != DType::kF32) fill(tensor, arena_.data() + cursor_ % arena_.bytes());
  cursor_ += stored_bytes(tensor);
}

void ScratchRing::restore_outputs(const Op& op, std::span<void* const> operands) const {
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    fill(graph_->tensor(op.outputs[i]), static_cast<std::byte*>(operands[op.inputs.size() + i]));
  }
}

void ScratchRing::fill(const Tensor& tensor, std::byte* at) const {
  const Bytes blocks = (tensor.bytes + kPatternBytes - 1) / kPatternBytes;
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (Bytes block = 0; block < blocks; ++block) {
    const Bytes begin = block * kPatternBytes;
    const auto bytes = static_cast<std::size_t>(std::min(kPatternBytes, tensor.bytes - begin));
    if (tensor.dtype == DType::kF32) {
      std::memcpy(at + begin, pattern_.data(), bytes);
    } else {
      std::memset(at + begin, 0, bytes);
    }
  }
}

}  // namespace sluice
