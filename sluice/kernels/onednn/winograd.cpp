#include "sluice/kernels/onednn/winograd.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::kernels {
namespace {

constexpr std::int64_t kTile = 4;  // output pixels a side
constexpr std::int64_t kLeastChannels = 32;
constexpr std::int64_t kLeastTiles = 128;  // of the batch: they share the transform of the weights

// Runs a kernel for a part of the samples on one part after the other.
class InParts : public Kernel {
 public:
  InParts(const KernelRequest& request, const std::vector<bool>& is_image, KernelPtr part, std::int64_t count)
      : part_(std::move(part)), count_(count) {
    implementation = fmt::format("{} in {} parts", part_->implementation, count);
    workspace_bytes = part_->workspace_bytes;
    const auto whole = [&](const std::vector<OperandRequest>& operands, const std::vector<Layout>& parts,
                           std::size_t first) {
      std::vector<Layout> layouts = parts;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const bool image = is_image[first + i];
        strides_.push_back(image ? bytes_of(parts[i]) : 0);
        if (image) layouts[i] = layout_like(parts[i], operands[i].shape);
      }
      return layouts;
    };
    inputs = whole(request.inputs, part_->inputs, 0);
    outputs = whole(request.outputs, part_->outputs, request.inputs.size());
    strides_.push_back(0);  // workspace
    shifted_.resize(request.inputs.size() + request.outputs.size() + (workspace_bytes > 0 ? 1 : 0));
  }

  Status run(std::span<void* const> operands, const StepContext& context) override {
    for (std::int64_t part = 0; part < count_; ++part) {
      for (std::size_t i = 0; i < shifted_.size(); ++i)  // an unused workspace may follow
        shifted_[i] = static_cast<std::byte*>(operands[i]) + part * strides_[i];
      SLUICE_RETURN_IF_ERROR(part_->run(shifted_, context));
    }
    return {};
  }

 private:
  KernelPtr part_;
  std::int64_t count_;
  std::vector<Bytes> strides_;  // by operand: from one part to the next
  std::vector<void*> shifted_;  // operands of the part that runs
};

}  // namespace

bool winograd_pays(const graph::ConvolutionAttributes& attributes, const OperandRequest& x, const OperandRequest& y) {
  const graph::Window& window = attributes.window;
  const bool fits = window.kernel_h == 3 && window.kernel_w == 3 && window.stride_h == 1 && window.stride_w == 1 &&
                    window.dilation_h == 1 && window.dilation_w == 1 && attributes.groups == 1 &&
                    x.dtype == graph::DType::kF32;
  if (!fits) return false;
  const std::int64_t tiles = y.shape[0] * ((y.shape[2] + kTile - 1) / kTile) * ((y.shape[3] + kTile - 1) / kTile);
  return std::min(x.shape[1], y.shape[1]) >= kLeastChannels && tiles >= kLeastTiles;
}

KernelPtr make_in_parts(const KernelRequest& request, const std::vector<bool>& is_image, Bytes limit,
                        const MakePart& make_part) {
  const std::int64_t batch = request.inputs[0].shape[0];
  for (std::int64_t count = 1; count <= batch; ++count) {
    if (batch % count != 0) continue;
    auto part = make_part(batch / count);
    if (part == nullptr) return nullptr;
    if (part->workspace_bytes > limit) continue;
    if (count == 1) return part;
    return std::make_unique<InParts>(request, is_image, std::move(part), count);
  }
  return nullptr;
}

}  // namespace sluice::kernels
