// The tensors that came with a model: where each one's bytes are, and their values as floats or integers.
//
// The file is not trusted: extents, lengths and paths are checked before anything is read or allocated. External data
// must lie in the model's folder (external_data.hpp). Thread safety: reading is const and safe from several threads.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/units.hpp"
#include "sluice/onnx/arrays/host_array.hpp"
#include "sluice/onnx/model/proto.hpp"

namespace sluice::onnx {

// One TensorProto whose extents, type and data fit together.
struct TensorSource {
  const ::onnx::TensorProto* proto = nullptr;
  graph::Shape shape;
  std::int64_t count = 0;
  std::filesystem::path external;  // empty: the data are inside the model
  std::int64_t offset = 0;         // of the external data

  bool is_integer() const;
};

// Errors (kBadInput) say what does not fit, without the tensor's name; kIo for missing external files.
Result<TensorSource> check_tensor(const ::onnx::TensorProto& proto, const std::filesystem::path& model_file);

// All elements; at most kMostArrayElements.
Result<HostArray> read_array(const TensorSource& source);

// Elements [first, first + values.size()) of a floating-point tensor.
Status read_floats(const TensorSource& source, std::int64_t first, std::span<float> values);

// The data as they are stored, of raw and external data. Errors: an external file that cannot be read.
Result<std::string> read_bytes(const TensorSource& source);

// Replaces the values of a floating-point tensor, in its own type, inside the model.
void write_floats(std::span<const float> values, ::onnx::TensorProto& proto);

class Initializers {
 public:
  // Checks every initializer of the graph. Errors list all that are wrong, with their names.
  static Result<std::shared_ptr<const Initializers>> open(std::shared_ptr<const ::onnx::ModelProto> model,
                                                          const std::filesystem::path& file);

  const TensorSource* find(const std::string& name) const;
  const std::map<std::string, TensorSource>& all() const { return sources_; }
  Bytes bytes() const { return bytes_; }  // of all of them, in the file or beside it

 private:
  std::shared_ptr<const ::onnx::ModelProto> model_;
  std::map<std::string, TensorSource> sources_;
  Bytes bytes_ = 0;
};

}  // namespace sluice::onnx
