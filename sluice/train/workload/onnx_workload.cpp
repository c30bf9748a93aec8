#include "sluice/train/workload/onnx_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice::train {
namespace {

constexpr std::array kLosses{onnx::OnnxLoss::kAuto, onnx::OnnxLoss::kCrossEntropy, onnx::OnnxLoss::kNextToken,
                             onnx::OnnxLoss::kMaskedToken};

Status check_shape(const WorkloadOptions& options) {
  const models::ModelOptions& shape = options.shape;
  const bool others =
      shape.image_size != 0 || shape.classes != 0 || shape.width != 0 || shape.depth != 0 || shape.dropout >= 0;
  if (!others) return {};
  return Error{ErrorCode::kBadInput,
               fmt::format("{} fixes its own image size, classes, width, depth and dropout; only the batch and the "
                           "sequence length can be set for an ONNX file",
                           options.onnx.string())};
}

onnx::OnnxOptions onnx_options(const WorkloadOptions& options) {
  return {.batch = options.shape.batch, .sequence = options.shape.sequence, .loss = options.onnx_loss};
}

}  // namespace

Result<ForwardModel> read_onnx_workload(const WorkloadOptions& options) {
  SLUICE_RETURN_IF_ERROR(check_shape(options));
  SLUICE_ASSIGN(onnx::OnnxModel model, onnx::import_onnx(options.onnx, onnx_options(options)));
  return ForwardModel{std::move(model.forward), std::move(model.values), std::move(model.notes)};
}

Status try_onnx_workload(const WorkloadOptions& options, const std::filesystem::path& target) {
  return onnx::try_export(options.onnx, target);
}

Status write_onnx_workload(const WorkloadOptions& options, const std::filesystem::path& target,
                           ParameterAccess& access) {
  return onnx::export_onnx(
      options.onnx, target, [&](const std::string& name) { return read_whole(access, {name}); }, onnx_options(options));
}

std::string_view to_string(onnx::OnnxLoss loss) {
  switch (loss) {
    case onnx::OnnxLoss::kAuto:
      return "auto";
    case onnx::OnnxLoss::kCrossEntropy:
      return "cross-entropy";
    case onnx::OnnxLoss::kNextToken:
      return "next-token";
    case onnx::OnnxLoss::kMaskedToken:
      return "masked-token";
    case onnx::OnnxLoss::kFirstOutput:
      return "first-output";
  }
  return "";
}

Result<onnx::OnnxLoss> parse_onnx_loss(std::string_view text) {
  const auto found = std::ranges::find(kLosses, text, [](onnx::OnnxLoss each) { return to_string(each); });
  if (found != kLosses.end()) return *found;
  return Error{ErrorCode::kBadInput,
               fmt::format("unknown loss '{}'; write auto, cross-entropy, next-token or masked-token", text)};
}

}  // namespace sluice::train
