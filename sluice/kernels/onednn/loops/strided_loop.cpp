#include "sluice/kernels/onednn/loops/strided_loop.hpp"

#include <algorithm>

namespace sluice::kernels {
namespace {

constexpr std::size_t kImageRank = 4;

// Whether an operand can be read beside blocked images of shape `whole`.
bool can_follow(const OperandRequest& operand, const graph::Shape& whole) {
  if (operand.shape == whole) return true;
  const graph::Shape shape = stored_shape(operand.shape, false, kImageRank);
  return shape[1] == 1 || (shape[2] == 1 && shape[3] == 1);
}

// One value a channel that grows to an image: it has no layout that could decide, but what uses the image will.
bool grows_to_image(const KernelRequest& request) {
  const graph::Shape& x = request.inputs[0].shape;
  return request.kind == graph::OpKind::kBroadcast && x.size() == kImageRank && x[1] == request.outputs[0].shape[1] &&
         x[2] == 1 && x[3] == 1;
}

// `operand` as it lies beside blocked images: blocked itself, or the same bytes in both forms.
Layout following_layout(const OperandRequest& operand, const graph::Shape& whole) {
  if (operand.shape == whole) return blocked_image_layout(whole, operand.dtype);
  return plain_layout(operand.shape, operand.dtype);
}

std::vector<std::int64_t> row_major_strides(const graph::Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = shape[i] == 1 ? 0 : stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace

graph::Shape stored_shape(const graph::Shape& shape, bool blocked, std::size_t rank) {
  graph::Shape padded(std::max(rank, shape.size()) - shape.size(), 1);
  padded.insert(padded.end(), shape.begin(), shape.end());
  if (!blocked) return padded;
  const std::int64_t channels = padded[1];
  if (channels == 1) return {padded[0], 1, padded[2], padded[3], 1};
  return {padded[0], channels / kChannelBlock, padded[2], padded[3], kChannelBlock};
}

BroadcastLayouts broadcast_layouts(const KernelRequest& request) {
  const OperandRequest& output = request.outputs[0];
  const auto lies_blocked = [&](const OperandRequest& operand) {
    return operand.shape == output.shape && operand.layout && is_blocked_image(*operand.layout);
  };
  const auto follows = [&](const OperandRequest& operand) { return can_follow(operand, output.shape); };
  const bool image = output.shape.size() == kImageRank && output.shape[1] % kChannelBlock == 0;
  const bool some_blocked =
      grows_to_image(request) || std::any_of(request.inputs.begin(), request.inputs.end(), lies_blocked);
  const bool blocked = image && some_blocked && std::all_of(request.inputs.begin(), request.inputs.end(), follows);
  if (!blocked) return {false, plain_layouts(request.inputs), plain_layout(output.shape, output.dtype)};
  BroadcastLayouts result{true, {}, blocked_image_layout(output.shape, output.dtype)};
  for (const OperandRequest& input : request.inputs) result.inputs.push_back(following_layout(input, output.shape));
  return result;
}

std::vector<WalkLevel> walk_over(const graph::Shape& space, const std::vector<graph::Shape>& operands) {
  std::vector<std::vector<std::int64_t>> strides;
  for (const graph::Shape& operand : operands) strides.push_back(row_major_strides(operand));
  std::vector<WalkLevel> levels;  // innermost first
  for (std::size_t i = space.size(); i-- > 0;) {
    if (space[i] == 1) continue;
    WalkLevel level{.extent = space[i]};
    for (std::size_t which = 0; which < strides.size(); ++which) level.strides.at(which) = strides[which][i];
    const auto continues = [&](std::size_t which) {
      const WalkLevel& inner = levels.back();
      return level.strides[which] == inner.strides[which] * inner.extent;
    };
    if (!levels.empty() && continues(0) && continues(1) && continues(2)) {
      levels.back().extent *= level.extent;
    } else {
      levels.push_back(level);
    }
  }
  while (levels.size() < 2) levels.push_back({});
  std::reverse(levels.begin(), levels.end());
  return levels;
}

}  // namespace sluice::kernels
