// Where an initializer's data lie when they are not inside the model: in a file beside it, with an offset and a length.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>

#include "sluice/base/result.hpp"
#include "sluice/onnx/model/proto.hpp"

namespace sluice::onnx {

struct ExternalData {
  std::filesystem::path file;
  std::int64_t offset = 0;
};

// For data of `bytes`. Errors: kBadInput when offset or length do not fit, or the path leaves the model's folder; kIo
// when there is no such file.
Result<ExternalData> find_external_data(const ::onnx::TensorProto& proto, std::int64_t bytes,
                                        const std::filesystem::path& folder);

// Says that the tensor's data are these bytes of a file of that name in the model's folder, and not in the model.
void place_outside(::onnx::TensorProto& tensor, const std::string& location, std::size_t offset, std::size_t length);

// Gives the inputs of the model at `path`, but those that are `fed`, values: they become its initializers, with data of
// 64 KiB and more in one file beside it, `path` + ".weights". Whoever reads the model then reads weights as they are
// needed, and never holds all of them; nor does a model reach protobuf's 2 GiB. kMismatch where an input has no value, or
// one of another size.
using InputValues = std::map<std::string, std::span<const std::byte>>;
Status give_inputs_values(const std::filesystem::path& path, const InputValues& values,
                          const std::set<std::string>& fed);

}  // namespace sluice::onnx
