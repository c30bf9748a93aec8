// Reads an .onnx file into protobuf classes and checks what all later code relies on: that it is one whole model, of an
// opset that the importer knows, with a graph. Tensors are not checked yet (initializers.hpp).
//
// Cost: one pass over the file; embedded initializers are then in memory until the model is dropped. Protobuf holds at
// most 2 GiB; larger models keep their initializers in external data. Thread safety: none needed, a pure function.
#pragma once

#include <filesystem>
#include <memory>

#include "sluice/base/result.hpp"
#include "sluice/onnx/model/proto.hpp"

namespace sluice::onnx {

inline constexpr std::int64_t kFirstOpset = 9;
inline constexpr std::int64_t kLastOpset = 22;

// Errors: kIo when the file cannot be read; kBadInput when it is not a model, cut off, or of another opset.
Result<std::shared_ptr<::onnx::ModelProto>> read_model(const std::filesystem::path& path);

// The version of the standard operators; 0 when the model names none.
std::int64_t opset_of(const ::onnx::ModelProto& model);

// Whole or not at all: base/atomic_file.hpp, whose errors it returns; kBadInput over protobuf's 2 GiB.
Status write_model(const std::filesystem::path& path, const ::onnx::ModelProto& model);

// What a model is called, by its file.
std::string model_name(const std::filesystem::path& path);

}  // namespace sluice::onnx
