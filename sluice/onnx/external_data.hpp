// Where an initializer's data lie when they are not inside the model: in a file beside it, with an offset and a length.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "sluice/base/result.hpp"
#include "sluice/onnx/proto.hpp"

namespace sluice {

struct ExternalData {
  std::filesystem::path file;
  std::int64_t offset = 0;
};

// For data of `bytes`. Errors: kBadInput when offset or length do not fit, or the path leaves the model's folder; kIo
// when there is no such file.
Result<ExternalData> find_external_data(const onnx::TensorProto& proto, std::int64_t bytes,
                                        const std::filesystem::path& folder);

// Takes initializers of 64 KiB and more out of the file at `path`, into one beside it, `path` + ".weights". Whoever reads
// the model then reads weights as they are needed, and never holds all of them. `values`: of fp32 initializers whose
// values in the file are not to count. kMismatch where one has another number of elements.
using InitializerSpans = std::map<std::string, std::span<const float>>;
Status move_weights_beside(const std::filesystem::path& path, const InitializerSpans& values);

}  // namespace sluice
