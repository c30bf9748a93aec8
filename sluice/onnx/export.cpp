// Trained parameters back into a model's initializers.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/base/atomic_file.hpp"
#include "sluice/onnx/given_weights.hpp"
#include "sluice/onnx/import.hpp"
#include "sluice/onnx/model/element_type.hpp"
#include "sluice/onnx/model/external_data.hpp"
#include "sluice/onnx/model/model_file.hpp"

namespace sluice::onnx {
namespace {

namespace fs = std::filesystem;

// Whole initializers as they are in the file, of every parameter that has been trained.
Result<InitializerValues> current_values(const ImportedModel& model) {
  InitializerValues values;
  for (const auto& [name, weights] : model.sources) {
    std::set<std::string> initializers;
    weights->collect_initializers(initializers);
    for (const std::string& initializer : initializers) {
      const TensorSource& source = *model.initializers->find(initializer);
      std::vector<float>& whole = values[initializer];
      whole.resize(as_index(source.count));
      SLUICE_RETURN_IF_ERROR(read_floats(source, 0, whole));
    }
  }
  return values;
}

// All data of the model and of the files beside it, and what the model says of them.
Bytes bytes_of(const ::onnx::ModelProto& model, const Initializers& initializers) {
  auto bytes = static_cast<Bytes>(model.ByteSizeLong());
  for (const auto& [name, source] : initializers.all()) {
    if (!source.external.empty()) bytes += source.count * element_bytes(source.proto->data_type());
  }
  return bytes;
}

fs::path weights_beside(const fs::path& target) {
  fs::path path = target;
  path += ".weights";
  return path;
}

// The file beside a copy that is too large for one.
class WeightsFile {
 public:
  static Result<WeightsFile> create(const fs::path& target) {
    const fs::path path = weights_beside(target);
    SLUICE_ASSIGN(AtomicFile file, AtomicFile::create(path));
    return WeightsFile(path.filename().string(), std::move(file));
  }

  // The tensor's own data.
  Status take(::onnx::TensorProto& tensor) {
    const std::string data = std::move(*tensor.mutable_raw_data());
    SLUICE_RETURN_IF_ERROR(file_.write(data));
    place(tensor, data.size());
    return {};
  }

  // Those that lie beside the model that is copied, a piece at a time.
  Status copy(const TensorSource& source, ::onnx::TensorProto& tensor) {
    constexpr std::int64_t kPiece = std::int64_t{1} << 20;
    const std::int64_t length = source.count * element_bytes(source.proto->data_type());
    std::ifstream from(source.external, std::ios::binary);
    from.seekg(source.offset);
    std::vector<char> piece(as_index(std::min(kPiece, length)));
    for (std::int64_t left = length; left > 0;) {
      const std::int64_t now = std::min(kPiece, left);
      if (!from.read(piece.data(), now)) {
        return Error{ErrorCode::kIo, fmt::format("cannot read {}", source.external.string())};
      }
      SLUICE_RETURN_IF_ERROR(file_.write(std::string_view(piece.data(), as_index(now))));
      left -= now;
    }
    place(tensor, as_index(length));
    return {};
  }

  Status finish() { return file_.commit(); }

 private:
  WeightsFile(std::string name, AtomicFile file) : name_(std::move(name)), file_(std::move(file)) {}

  void place(::onnx::TensorProto& tensor, std::size_t length) {
    place_outside(tensor, name_, offset_, length);
    offset_ += length;
  }

  std::string name_;
  AtomicFile file_;
  std::size_t offset_ = 0;
};

// Tensors stored beside the model are embedded, so that the copy stands alone wherever it is written.
Status embed(const TensorSource& source, ::onnx::TensorProto& tensor) {
  SLUICE_ASSIGN(std::string bytes, read_bytes(source));
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(bytes));
  return {};
}

// Those of branches of control flow, too. `apart`: nullptr where all is in the model.
Status write_initializers(const Initializers& initializers, const InitializerValues& values, ::onnx::GraphProto& graph,
                          WeightsFile* apart) {
  constexpr std::size_t kSmallest = 64 << 10;
  for (::onnx::NodeProto& node : *graph.mutable_node()) {
    for (::onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      SLUICE_RETURN_IF_ERROR(write_initializers(initializers, values, *attribute.mutable_g(), apart));
    }
  }
  for (::onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    const auto trained = values.find(tensor.name());
    const TensorSource* source = initializers.find(tensor.name());
    const bool outside = source != nullptr && !source->external.empty();
    if (trained != values.end()) {
      write_floats(trained->second, tensor);
    } else if (outside && apart != nullptr) {
      SLUICE_RETURN_IF_ERROR(apart->copy(*source, tensor));
      continue;
    } else if (outside) {
      SLUICE_RETURN_IF_ERROR(embed(*source, tensor));
    }
    if (apart != nullptr && tensor.raw_data().size() >= kSmallest) SLUICE_RETURN_IF_ERROR(apart->take(tensor));
  }
  return {};
}

Status take_trained(const ImportedModel& model, const fs::path& source, const ReadParameter& read,
                    InitializerValues& values) {
  for (const auto& [name, weights] : model.sources) {
    std::set<std::string> initializers;
    weights->collect_initializers(initializers);
    if (initializers.empty()) continue;  // a constant of the file
    SLUICE_ASSIGN(std::vector<float> trained, read(name));
    if (std::ssize(trained) != graph::element_count(weights->shape)) {
      return Error{ErrorCode::kMismatch,
                   fmt::format("parameter '{}' has {} values, but in {} it has the shape {}", name, trained.size(),
                               source.string(), graph::to_string(weights->shape))};
    }
    write_back_weights(*weights, std::move(trained), values);
  }
  return {};
}

}  // namespace

Status export_onnx(const fs::path& source, const fs::path& target, const ReadParameter& read,
                   const OnnxOptions& options, Bytes most) {
  SLUICE_ASSIGN(const ImportedModel model, import_model(source, options));
  SLUICE_ASSIGN(InitializerValues values, current_values(model));
  SLUICE_RETURN_IF_ERROR(take_trained(model, source, read, values));
  ::onnx::ModelProto copy = *model.model;
  std::optional<WeightsFile> apart;
  if (bytes_of(*model.model, *model.initializers) > most) {
    SLUICE_ASSIGN(WeightsFile file, WeightsFile::create(target));
    apart.emplace(std::move(file));
  }
  SLUICE_RETURN_IF_ERROR(
      write_initializers(*model.initializers, values, *copy.mutable_graph(), apart ? &*apart : nullptr));
  if (apart) SLUICE_RETURN_IF_ERROR(apart->finish());
  return write_model(target, copy);
}

Status try_export(const fs::path& source, const fs::path& target, Bytes most) {
  SLUICE_ASSIGN(const std::shared_ptr<::onnx::ModelProto> model, read_model(source));
  SLUICE_ASSIGN(const auto initializers, Initializers::open(model, source));
  const Bytes bytes = bytes_of(*model, *initializers);
  if (bytes <= most) return try_to_write(target, as_index(bytes));
  SLUICE_RETURN_IF_ERROR(try_to_write(weights_beside(target), as_index(bytes)));
  return try_to_write(target);
}

}  // namespace sluice::onnx
