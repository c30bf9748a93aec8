// Copies between a batch and some of its samples. Samples are the outermost dimension of every layout used, so a slice
// is one contiguous piece of the whole.
#include <algorithm>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {
namespace {

// A copy by all compute threads, in pieces of a cache-friendly size.
void copy_bytes(const std::byte* from, std::byte* to, std::int64_t bytes) {
  constexpr std::int64_t kPiece = 256 * kKiB;
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < bytes; begin += kPiece) {
    std::memcpy(to + begin, from + begin, as_index(std::min(kPiece, bytes - begin)));
  }
}

struct Piece {
  std::int64_t offset = 0;  // of the slice within the whole, bytes
  std::int64_t bytes = 0;
};

Piece piece_of(const Layout& slice, const graph::Shape& slice_shape, std::int64_t first_sample) {
  const auto bytes = bytes_of(slice);
  return {bytes / slice_shape[0] * first_sample, bytes};
}

class SliceBatch : public Kernel {
 public:
  explicit SliceBatch(const KernelRequest& request) {
    const graph::Shape& slice = request.outputs[0].shape;
    const OperandRequest& whole = request.inputs[0];
    inputs = {whole.layout.value_or(plain_layout(whole.shape, whole.dtype))};
    outputs = {layout_like(inputs[0], slice)};
    implementation = "loop";
    piece_ = piece_of(outputs[0], slice, request.slice.begin);
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    copy_bytes(static_cast<const std::byte*>(operands[0]) + piece_.offset, static_cast<std::byte*>(operands[1]),
               piece_.bytes);
    return {};
  }

 private:
  Piece piece_;
};

class PlaceBatch : public Kernel {
 public:
  explicit PlaceBatch(const KernelRequest& request) {
    const OperandRequest& slice = request.inputs[0];
    const OperandRequest& whole = request.outputs[0];
    const Layout slice_layout = slice.layout.value_or(plain_layout(slice.shape, slice.dtype));
    outputs = {whole.layout.value_or(layout_like(slice_layout, whole.shape))};
    inputs = {layout_like(outputs[0], slice.shape)};
    if (request.slice.partial) inputs.push_back(outputs[0]);
    implementation = "loop";
    piece_ = piece_of(inputs[0], slice.shape, request.slice.begin);
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    copy_bytes(static_cast<const std::byte*>(operands[0]), static_cast<std::byte*>(operands.back()) + piece_.offset,
               piece_.bytes);
    return {};
  }

 private:
  Piece piece_;
};

KernelPtr make_slice_batch(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return std::make_unique<SliceBatch>(request);
}
KernelPtr make_place_batch(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return std::make_unique<PlaceBatch>(request);
}

}  // namespace

KernelMakers batch_copy_kernels() {
  return {
      {graph::OpKind::kSliceBatch, make_slice_batch},
      {graph::OpKind::kPlaceBatch, make_place_batch},
  };
}

}  // namespace sluice::kernels
