#include "sluice/measure/scratch_ring.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::measure {
namespace {

constexpr Bytes kNoPlace = -1;
constexpr Bytes kStreamedWord = 8;

Bytes room_of(const graph::Graph& graph, const graph::Op& op) {
  Bytes room = 0;
  for (const graph::TensorId tensor : graph::distinct_operands(op)) room += plan::stored_bytes(graph.tensor(tensor));
  return room;
}

Bytes room_of_largest(const graph::Graph& graph) {
  Bytes largest = 0;
  for (const graph::Op& op : graph.ops()) largest = std::max(largest, room_of(graph, op));
  return largest;
}

// Written over and over: drawing every float would take longer than the measurement.
std::vector<float> pattern_of_normals() {
  std::vector<float> pattern(64 * 1024);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = random_normal(0, 0, i);
  return pattern;
}

void fill_with_normals(const memory::Arena& arena, int threads) {
  const std::vector<float> pattern = pattern_of_normals();
  const auto block = static_cast<Bytes>(pattern.size() * sizeof(float));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (Bytes begin = 0; begin < arena.bytes(); begin += block) {
    const Bytes bytes = std::min(block, arena.bytes() - begin);
    std::memcpy(arena.data() + begin, pattern.data(), as_index(bytes));
  }
}

}  // namespace

Result<ScratchRing> ScratchRing::make(const graph::Graph& graph, int threads, Bytes smallest_ring) {
  SLUICE_ASSIGN(memory::Arena arena, memory::Arena::map(std::max(smallest_ring, room_of_largest(graph)), "scratch"));
  fill_with_normals(arena, threads);
  return ScratchRing(graph, std::move(arena), false);
}

Result<ScratchRing> ScratchRing::make_on_gpu(const graph::Graph& graph, Bytes smallest_ring) {
  SLUICE_ASSIGN(memory::Arena arena, gpu::map_device_arena(std::max(smallest_ring, room_of_largest(graph)), "scratch"));
  const std::vector<float> pattern = pattern_of_normals();
  const auto block = static_cast<Bytes>(pattern.size() * sizeof(float));
  for (Bytes begin = 0; begin < arena.bytes(); begin += block) {
    const auto bytes = as_index(std::min(block, arena.bytes() - begin));
    SLUICE_RETURN_IF_ERROR(gpu::copy_gpu_bytes(arena.data() + begin, pattern.data(), bytes));
  }
  return ScratchRing(graph, std::move(arena), true);
}

ScratchRing::ScratchRing(const graph::Graph& graph, memory::Arena arena, bool on_gpu)
    : graph_(&graph), arena_(std::move(arena)), on_gpu_(on_gpu), position_(graph.tensors().size(), kNoPlace) {}

Status ScratchRing::lie_in(const memory::Tier& tier) const {
  return tier.kind->settle == nullptr ? Status() : tier.kind->settle(tier, arena_);
}

std::vector<void*> ScratchRing::place(const graph::Op& op) {
  const Bytes room = room_of(*graph_, op);
  const Bytes left = arena_.bytes() - cursor_ % arena_.bytes();
  if (room > left) cursor_ += left;                           // so that no operand lies across the end of the ring
  const Bytes overwritten = cursor_ + room - arena_.bytes();  // before here, should every operand be placed anew
  for (const graph::TensorId tensor : graph::distinct_operands(op)) {
    if (position_[as_index(tensor)] < std::max<Bytes>(overwritten, 0)) place_tensor(tensor);
  }
  std::vector<void*> pointers;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const graph::TensorId tensor : *operands) {
      pointers.push_back(arena_.data() + position_[as_index(tensor)] % arena_.bytes());
    }
  }
  if (!on_gpu_) let_updates_run(op, pointers);
  return pointers;
}

std::vector<void*> ScratchRing::place_anew(const graph::Op& op) {
  for (const graph::TensorId tensor : graph::distinct_operands(op)) position_[as_index(tensor)] = kNoPlace;
  return place(op);
}

// Or one would find that there are no gradients yet, or that they are not finite, and do nothing.
void ScratchRing::let_updates_run(const graph::Op& op, std::span<void* const> operands) {
  if (!graph::is_update(op.kind)) return;
  const auto& update = op.as<graph::UpdateAttributes>();
  if (update.delayed) *static_cast<float*>(operands[op.inputs.size() - 1]) = 1;
  if (!graph::is_clipped(op)) return;
  auto* const factor = static_cast<float*>(operands[2 + graph::moments_of(op.kind)]);
  factor[0] = 1;
  if (update.scaled) factor[1] = 0;
}

void ScratchRing::place_tensor(graph::TensorId id) {
  const graph::Tensor& tensor = graph_->tensor(id);
  position_[as_index(id)] = cursor_;
  // Floats of some kind are there already, and touching them would make cold data warm.
  if (tensor.dtype != graph::DType::kF32) {
    clear_past_caches(arena_.data() + cursor_ % arena_.bytes(), tensor.bytes);
  }
  cursor_ += plan::stored_bytes(tensor);
}

void ScratchRing::clear_integers(const graph::Op& op, std::span<void* const> operands) const {
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const graph::Tensor& tensor = graph_->tensor(op.outputs[i]);
    if (tensor.dtype == graph::DType::kF32) continue;
    clear(operands[op.inputs.size() + i], tensor.bytes);
  }
}

// So that what was cold stays cold.
void ScratchRing::clear_past_caches(void* memory, Bytes bytes) const {
  if (on_gpu_) return clear(memory, bytes);
  auto* const words = static_cast<long long*>(memory);
  for (Bytes i = 0; i < bytes / kStreamedWord; ++i) _mm_stream_si64(words + i, 0);
  std::memset(words + bytes / kStreamedWord, 0, as_index(bytes % kStreamedWord));
  _mm_sfence();
}

void ScratchRing::clear(void* memory, Bytes bytes) const {
  const auto size = as_index(bytes);
  if (on_gpu_) {
    SLUICE_CHECK(gpu::clear_gpu_bytes(memory, size).ok(), "scratch memory of the GPU can be cleared");
  } else {
    std::memset(memory, 0, size);
  }
}

}  // namespace sluice::measure
