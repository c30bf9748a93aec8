#include "sluice/onnx/model/external_data.hpp"

#include <fmt/format.h>

#include <fstream>

#include "sluice/base/parse.hpp"
#include "sluice/onnx/arrays/host_array.hpp"
#include "sluice/onnx/model/element_type.hpp"
#include "sluice/onnx/model/model_file.hpp"

namespace sluice::onnx {
namespace {

Result<std::int64_t> entry_number(const std::string& key, const std::string& text) {
  const Result<std::int64_t> number = parse_integer(text, 0);
  if (number.ok()) return number;
  return bad_input(fmt::format("its external data has the {} '{}'", key, text));
}

namespace fs = std::filesystem;

bool is_inside(const fs::path& file, const fs::path& folder) {
  const fs::path relative = file.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != ".." && !relative.is_absolute();
}

// Where it is when links are followed. A file that has no name any more is where it was made.
fs::path real_place(fs::path file) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::error_code wrong;
  for (int links = 0; links < kMostLinks && fs::is_symlink(file, wrong); ++links) {
    file = file.parent_path() / fs::read_symlink(file, wrong);
  }
  return fs::weakly_canonical(file.parent_path().empty() ? "." : file.parent_path(), wrong) / file.filename();
}

Result<fs::path> external_file(const fs::path& model, const std::string& location) {
  const fs::path folder = model.parent_path().empty() ? "." : model.parent_path();
  const fs::path file = (folder / location).lexically_normal();
  const bool named_inside =
      !location.empty() && location.find('\0') == std::string::npos && is_inside(file, folder.lexically_normal());
  std::error_code wrong;
  const fs::path place = named_inside ? real_place(file) : fs::path();
  if (!named_inside ||
      (!is_inside(place, fs::weakly_canonical(folder, wrong)) && !is_inside(place, real_place(model).parent_path()))) {
    return bad_input(fmt::format("its external data is at '{}', outside the model's folder", location));
  }
  if (!fs::is_regular_file(file, wrong)) {
    return Error{ErrorCode::kIo, fmt::format("its external data is missing: no file {}", file.string())};
  }
  return file;
}

}  // namespace

Result<ExternalData> find_external_data(const ::onnx::TensorProto& proto, std::int64_t bytes,
                                        const std::filesystem::path& model) {
  ExternalData source;
  std::string location;
  std::int64_t length = bytes;
  for (const ::onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      SLUICE_ASSIGN(source.offset, entry_number(entry.key(), entry.value()));
    }
    if (entry.key() == "length") {
      SLUICE_ASSIGN(length, entry_number(entry.key(), entry.value()));
    }
  }
  if (length != bytes) {
    return bad_input(fmt::format("takes {} bytes, but its external data says {}", bytes, length));
  }
  SLUICE_ASSIGN(source.file, external_file(model, location));
  std::error_code wrong;
  const auto available = static_cast<std::int64_t>(std::filesystem::file_size(source.file, wrong));
  if (wrong || source.offset > available || bytes > available - source.offset) {
    return bad_input(fmt::format("needs bytes {} to {} of {}, which has {}", source.offset, source.offset + bytes,
                                 source.file.string(), available));
  }
  return source;
}

void place_outside(::onnx::TensorProto& tensor, const std::string& location, std::size_t offset, std::size_t length) {
  const auto add = [&](const char* key, const std::string& value) {
    ::onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  tensor.clear_external_data();
  tensor.clear_raw_data();
  add("location", location);
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
}

namespace {

Error cannot_write(const fs::path& path) {
  return Error{ErrorCode::kIo, fmt::format("cannot write {}: is the disk full?", path.string())};
}

// A file that data are appended to.
class DataFile {
 public:
  explicit DataFile(std::filesystem::path path) : path_(std::move(path)), stream_(path_, std::ios::binary) {}

  void append(std::span<const std::byte> data, ::onnx::TensorProto& tensor) {
    place_outside(tensor, path_.filename().string(), offset_, data.size());
    stream_.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    offset_ += data.size();
  }

  Status finish() {
    if (stream_.flush()) return {};
    return cannot_write(path_);
  }

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
  std::size_t offset_ = 0;
};

// An initializer with the input's name, type and shape, and no data yet.
Result<::onnx::TensorProto> initializer_of(const ::onnx::ValueInfoProto& input, std::size_t bytes) {
  const ::onnx::TypeProto::Tensor& type = input.type().tensor_type();
  ::onnx::TensorProto tensor;
  tensor.set_name(input.name());
  tensor.set_data_type(type.elem_type());
  graph::Shape shape;
  for (const auto& dimension : type.shape().dim()) {
    tensor.add_dims(dimension.dim_value());
    shape.push_back(dimension.dim_value());
  }
  const std::int64_t element = element_bytes(type.elem_type());
  const std::int64_t count = checked_count(shape).value_or(-1);
  if (element != 0 && count * element == static_cast<std::int64_t>(bytes)) return tensor;
  return Error{ErrorCode::kMismatch, fmt::format("input '{}' has the shape {} of type {}; its value has {} bytes",
                                                 input.name(), graph::to_string(shape), type.elem_type(), bytes)};
}

}  // namespace

Status give_inputs_values(const std::filesystem::path& path, const std::filesystem::path& weights,
                          const InputValues& values, const std::set<std::string>& fed) {
  constexpr std::size_t kSmallest = 64 << 10;
  SLUICE_ASSIGN(const std::shared_ptr<::onnx::ModelProto> model, read_model(path));
  ::onnx::GraphProto& graph = *model->mutable_graph();
  DataFile beside(weights);
  std::vector<::onnx::ValueInfoProto> kept;
  for (const ::onnx::ValueInfoProto& input : graph.input()) {
    if (fed.contains(input.name())) {
      kept.push_back(input);
      continue;
    }
    const auto value = values.find(input.name());
    if (value == values.end()) {
      return Error{ErrorCode::kMismatch, fmt::format("input '{}' has no value, and is not fed", input.name())};
    }
    SLUICE_ASSIGN(::onnx::TensorProto tensor, initializer_of(input, value->second.size()));
    if (value->second.size() < kSmallest) {
      tensor.set_raw_data(value->second.data(), value->second.size());
    } else {
      beside.append(value->second, tensor);
    }
    *graph.add_initializer() = std::move(tensor);
  }
  *graph.mutable_input() = {kept.begin(), kept.end()};
  SLUICE_RETURN_IF_ERROR(beside.finish());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (model->SerializeToOstream(&file) && file.flush()) return {};
  return cannot_write(path);
}

}  // namespace sluice::onnx
