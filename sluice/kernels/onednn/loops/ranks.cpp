// What ranks tell one another in a step (graph/rewrite/partition_updates.hpp): parts of gradients and of parameters, which
// are counted row-major.
#include <algorithm>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

// A tensor and its parts, in bytes of it.
struct PartedBytes {
  Bytes element = 4;
  Bytes whole = 0;
  Bytes part = 0;  // all but the last ranks'
};

PartedBytes parted(const OperandRequest& whole, std::int64_t ranks) {
  const std::int64_t elements = graph::element_count(whole.shape);
  const Bytes element = graph::size_of(whole.dtype);
  return {element, elements * element, graph::part_elements(elements, ranks) * element};
}

std::span<const std::byte> bytes_at(const void* data, Bytes begin, Bytes count) {
  return {static_cast<const std::byte*>(data) + begin, as_index(count)};
}

// Rank 0's where an op is tried alone.
Bytes own_bytes(const PartedBytes& bytes, const Ranks* ranks) {
  return bytes_of_part(bytes.whole, bytes.part, ranks == nullptr ? 0 : ranks->rank());
}

template <typename T>
SLUICE_FORCE_INLINE void add_up_parts(const T* parts, std::int64_t ranks, std::int64_t apart, float factor,
                                      std::int64_t begin, std::int64_t end, T* sum) {
  for (std::int64_t i = begin; i < end; ++i) {
    float value = load(parts, i);
    for (std::int64_t rank = 1; rank < ranks; ++rank) value += load(parts, rank * apart + i);
    store(sum, i, factor * value);
  }
}
SLUICE_VECTOR_CLONES void add_up_block(const float* parts, std::int64_t ranks, std::int64_t apart, float factor,
                                       std::int64_t begin, std::int64_t end, float* sum) {
  add_up_parts(parts, ranks, apart, factor, begin, end, sum);
}
SLUICE_VECTOR_CLONES void add_up_block(const BFloat16* parts, std::int64_t ranks, std::int64_t apart, float factor,
                                       std::int64_t begin, std::int64_t end, BFloat16* sum) {
  add_up_parts(parts, ranks, apart, factor, begin, end, sum);
}
SLUICE_VECTOR_CLONES void add_up_block(const Float16* parts, std::int64_t ranks, std::int64_t apart, float factor,
                                       std::int64_t begin, std::int64_t end, Float16* sum) {
  add_up_parts(parts, ranks, apart, factor, begin, end, sum);
}

// What all ranks have for this one, into `received`.
Status receive_parts(const PartedBytes& bytes, std::int64_t count, Ranks* ranks, const void* whole, void* received) {
  const Bytes own = own_bytes(bytes, ranks);
  if (ranks != nullptr) {
    return ranks->exchange(Channel::kReduceScatter, bytes_at(whole, 0, bytes.whole), bytes.part,
                           {static_cast<std::byte*>(received), as_index(count * own)});
  }
  for (std::int64_t rank = 0; rank < count; ++rank) {
    std::memcpy(static_cast<std::byte*>(received) + rank * own, whole, as_index(own));
  }
  return {};
}

KernelPtr make_reduce_scatter(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const OperandRequest& whole = request.inputs[0];
  const std::int64_t count = request.as<graph::RanksAttributes>().ranks;
  const PartedBytes bytes = parted(whole, count);
  auto kernel = std::make_unique<LoopKernel>(
      request,
      [=, dtype = whole.dtype, factor = request.as<graph::RanksAttributes>().factor](
          Operands operands, const StepContext& context) -> Status {
        void* const received = operand<void>(operands, 2);
        SLUICE_RETURN_IF_ERROR(receive_parts(bytes, count, context.ranks, operands[0], received));
        const std::int64_t own = own_bytes(bytes, context.ranks) / bytes.element;
        with_any_element(dtype, [&]<typename T>(T) {
          T* const sum = operand<T>(operands, 1);
          for_blocks(own, [&](std::int64_t begin, std::int64_t end) {
            add_up_block(static_cast<const T*>(received), count, own, factor, begin, end, sum);
          });
          std::fill(sum + own, sum + bytes.part / bytes.element, T{});
        });
        return {};
      });
  kernel->workspace_bytes = count * bytes.part;
  return kernel;
}

KernelPtr make_own_part(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const PartedBytes bytes = parted(request.inputs[0], request.as<graph::RanksAttributes>().ranks);
  return std::make_unique<LoopKernel>(request, [bytes](Operands operands, const StepContext& context) {
    const int rank = context.ranks == nullptr ? 0 : context.ranks->rank();
    const Bytes own = own_bytes(bytes, context.ranks);
    auto* const part = operand<std::byte>(operands, 1);
    if (own > 0) std::memcpy(part, operand<const std::byte>(operands, 0) + rank * bytes.part, as_index(own));
    std::fill(part + own, part + bytes.part, std::byte{0});
    return Status{};
  });
}

KernelPtr make_all_gather(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const std::int64_t count = request.as<graph::RanksAttributes>().ranks;
  const PartedBytes bytes = parted(request.outputs[0], count);
  return std::make_unique<LoopKernel>(request, [=](Operands operands, const StepContext& context) -> Status {
    auto* const whole = operand<std::byte>(operands, 1);
    const Bytes own = own_bytes(bytes, context.ranks);
    if (context.ranks != nullptr) {
      return context.ranks->gather(Channel::kAllGather, bytes_at(operands[0], 0, own), bytes.part,
                                   {whole, as_index(bytes.whole)});
    }
    for (int rank = 0; rank < count; ++rank) {
      const Bytes its = bytes_of_part(bytes.whole, bytes.part, rank);
      if (its > 0) std::memcpy(whole + rank * bytes.part, operands[0], as_index(its));
    }
    return {};
  });
}

}  // namespace

KernelMakers rank_kernels() {
  return {
      {graph::OpKind::kReduceScatter, make_reduce_scatter},
      {graph::OpKind::kOwnPart, make_own_part},
      {graph::OpKind::kAllGather, make_all_gather},
  };
}

}  // namespace sluice::kernels
