// Where an initializer's data lie when they are not inside the model: in a file beside it, with an offset and a length.
//
// The model is not trusted: it names files of its own folder, or of folders in there. Such a name may be a link, as in the
// caches of hubs, whose model files are links, too: to another file of the model's folder, or of the one that the model itself
// really is in.
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

// For data of `bytes` of the model in the file `model`. Errors: kBadInput when offset or length do not fit, or the file is
// elsewhere than said above; kIo when there is no such file.
Result<ExternalData> find_external_data(const ::onnx::TensorProto& proto, std::int64_t bytes,
                                        const std::filesystem::path& model);

// Says that the tensor's data are these bytes of a file of that name in the model's folder, and not in the model.
void place_outside(::onnx::TensorProto& tensor, const std::string& location, std::size_t offset, std::size_t length);

// Gives the inputs of the model at `path`, but those that are `fed`, values: they become its initializers, with data of
// 64 KiB and more in one file beside it, `weights`. Whoever reads the model then reads weights as they are needed, and never
// holds all of them; nor does a model reach protobuf's 2 GiB. Both files are written over. kMismatch where an input has no
// value, or one of another size.
using InputValues = std::map<std::string, std::span<const std::byte>>;
Status give_inputs_values(const std::filesystem::path& path, const std::filesystem::path& weights,
                          const InputValues& values, const std::set<std::string>& fed);

}  // namespace sluice::onnx
