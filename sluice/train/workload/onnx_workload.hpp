// ONNX files as workloads: reading one before training, writing one after it.
#pragma once

#include <filesystem>
#include <string_view>

#include "sluice/train/parameters/parameters.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::train {

Result<ForwardModel> read_onnx_workload(const WorkloadOptions& options);

// Whether write_onnx_workload() could write the copy now; before steps whose result it is to take.
Status try_onnx_workload(const WorkloadOptions& options, const std::filesystem::path& target);

// A copy of the file that the workload came from, with the parameters that `access` holds now.
Status write_onnx_workload(const WorkloadOptions& options, const std::filesystem::path& target,
                           ParameterAccess& access);

std::string_view to_string(onnx::OnnxLoss loss);                // "next-token"
Result<onnx::OnnxLoss> parse_onnx_loss(std::string_view text);  // kBadInput for anything else

}  // namespace sluice::train
