// Embeddings: rows of w by token. A part of the vocabulary (Slice) handles its own tokens and leaves the
// others'. Backward, threads share the columns: each walks all tokens in order, so a row that several tokens name is
// summed in token order.
#include <string>

#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

// Of the data, or whole numbers that ops have made of them.
class TokenIds {
 public:
  TokenIds(const void* ids, graph::DType dtype) : ids_(ids), integers_(dtype == graph::DType::kI32) {}

  // -1 for what is no number of a row.
  std::int32_t operator[](std::int64_t i) const {
    if (integers_) return static_cast<const std::int32_t*>(ids_)[i];
    const float number = static_cast<const float*>(ids_)[i];
    return number >= 0 && number < kMostRows ? static_cast<std::int32_t>(number) : -1;
  }

 private:
  static constexpr float kMostRows = 1 << 30;
  const void* ids_;
  bool integers_;
};

struct EmbeddingSpace {
  EmbeddingSpace(const graph::Slice& slice, const graph::Shape& ids, const graph::Shape& w)
      : tokens(graph::element_count(ids)),
        rows(w[0]),
        features(w[1]),
        begin(slice.begin),
        whole(slice.end == 0),
        clear(!slice.partial && !slice.accumulate) {}

  bool holds(std::int32_t id) const { return begin <= id && id < begin + rows; }

  std::int64_t tokens, rows, features;
  std::int64_t begin;  // the vocabulary row that is w's row 0
  bool whole;          // w is the whole vocabulary
  bool clear;          // nothing was written or summed before
};

Status check_tokens(const TokenIds& ids, const EmbeddingSpace& space) {
  for (std::int64_t i = 0; i < space.tokens; ++i) {
    if (ids[i] >= 0 && (!space.whole || ids[i] < space.rows)) continue;
    return Error{ErrorCode::kBadInput, "token " + std::to_string(ids[i]) + " at position " + std::to_string(i) +
                                           " is outside the model's vocabulary" +
                                           (space.whole ? " of " + std::to_string(space.rows) : "") +
                                           "; check the data set against --classes"};
  }
  return {};
}

template <typename T>
SLUICE_FORCE_INLINE void copy(const float* from, std::int64_t count, T* to) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(to, i, from[i]);
}
SLUICE_VECTOR_CLONES void copy_row(const float* from, std::int64_t count, float* to) { copy(from, count, to); }
SLUICE_VECTOR_CLONES void copy_row(const float* from, std::int64_t count, BFloat16* to) { copy(from, count, to); }

template <typename T>
SLUICE_FORCE_INLINE void add(const T* from, std::int64_t count, float* to) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] += load(from, i);
}
SLUICE_VECTOR_CLONES void add_row(const float* from, std::int64_t count, float* to) { add(from, count, to); }
SLUICE_VECTOR_CLONES void add_row(const BFloat16* from, std::int64_t count, float* to) { add(from, count, to); }

// In the first part of a vocabulary, tokens of other parts get zeros, so that every byte of y is defined.
template <typename T>
void look_up(const EmbeddingSpace& space, const TokenIds& ids, const float* w, T* y) {
  for_rows(space.tokens, space.features, [&](std::int64_t token) {
    T* const to = y + token * space.features;
    if (space.holds(ids[token])) {
      copy_row(w + (ids[token] - space.begin) * space.features, space.features, to);
    } else if (space.clear) {
      std::fill_n(to, space.features, T{});
    }
  });
}

template <typename T>
void scatter(const EmbeddingSpace& space, const TokenIds& ids, const T* dy, float* dw) {
  constexpr std::int64_t kColumns = 128;
  const std::int64_t parts = (space.features + kColumns - 1) / kColumns;
  for_rows(parts, space.tokens * kColumns, [&](std::int64_t part) {
    const std::int64_t first = part * kColumns;
    const std::int64_t count = std::min(kColumns, space.features - first);
    for (std::int64_t token = 0; token < space.tokens; ++token) {
      if (!space.holds(ids[token])) continue;
      add_row(dy + token * space.features + first, count, dw + (ids[token] - space.begin) * space.features + first);
    }
  });
}

void clear(float* values, std::int64_t count) {
  for_blocks(count, [&](std::int64_t begin, std::int64_t end) { std::fill(values + begin, values + end, 0.0F); });
}

KernelPtr make_embedding(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const EmbeddingSpace space(request.slice, request.inputs[0].shape, request.inputs[1].shape);
  const std::size_t output = request.inputs.size();
  const graph::DType of_ids = request.inputs[0].dtype, of_rows = request.outputs[0].dtype;
  return std::make_unique<LoopKernel>(request, [=](Operands operands, const StepContext& /*context*/) -> Status {
    const TokenIds ids(operands[0], of_ids);
    SLUICE_RETURN_IF_ERROR(check_tokens(ids, space));
    with_element(of_rows, [&]<typename T>(T) {
      look_up(space, ids, operand<const float>(operands, 1), operand<T>(operands, output));
    });
    return {};
  });
}

KernelPtr make_embedding_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const EmbeddingSpace space(request.slice, request.inputs[0].shape, request.outputs[0].shape);
  const std::size_t output = request.inputs.size();
  const graph::DType of_ids = request.inputs[0].dtype, of_rows = request.inputs[1].dtype;
  return std::make_unique<LoopKernel>(request, [=](Operands operands, const StepContext& /*context*/) -> Status {
    const TokenIds ids(operands[0], of_ids);
    auto* dw = operand<float>(operands, output);
    SLUICE_RETURN_IF_ERROR(check_tokens(ids, space));
    if (space.clear) clear(dw, space.rows * space.features);
    with_element(of_rows, [&]<typename T>(T) { scatter(space, ids, operand<const T>(operands, 1), dw); });
    return {};
  });
}

}  // namespace

KernelMakers embedding_kernels() {
  return {
      {graph::OpKind::kEmbedding, make_embedding},
      {graph::OpKind::kEmbeddingBackward, make_embedding_backward},
  };
}

}  // namespace sluice::kernels
