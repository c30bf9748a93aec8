#include "sluice/onnx/external_data.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>

#include "sluice/onnx/model_file.hpp"

namespace sluice {
namespace {

Result<std::int64_t> entry_number(const std::string& key, const std::string& text) {
  std::int64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc{} || end != text.data() + text.size() || number < 0) {
    return bad_input(fmt::format("its external data has the {} '{}'", key, text));
  }
  return number;
}

bool is_inside(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const std::filesystem::path relative = file.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != ".." && !relative.is_absolute();
}

Result<std::filesystem::path> external_file(const std::filesystem::path& folder, const std::string& location) {
  std::error_code wrong;
  const std::filesystem::path base = std::filesystem::weakly_canonical(folder.empty() ? "." : folder, wrong);
  const std::filesystem::path file = std::filesystem::weakly_canonical(base / location, wrong);
  if (location.empty() || location.find('\0') != std::string::npos || !is_inside(file, base)) {
    return bad_input(fmt::format("its external data is at '{}', outside the model's folder", location));
  }
  if (!std::filesystem::is_regular_file(file, wrong)) {
    return Error{ErrorCode::kIo, fmt::format("its external data is missing: no file {}", file.string())};
  }
  return file;
}

}  // namespace

Result<ExternalData> find_external_data(const onnx::TensorProto& proto, std::int64_t bytes,
                                        const std::filesystem::path& folder) {
  ExternalData source;
  std::string location;
  std::int64_t length = bytes;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
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
  SLUICE_ASSIGN(source.file, external_file(folder, location));
  std::error_code wrong;
  const auto available = static_cast<std::int64_t>(std::filesystem::file_size(source.file, wrong));
  if (wrong || source.offset > available || bytes > available - source.offset) {
    return bad_input(fmt::format("needs bytes {} to {} of {}, which has {}", source.offset, source.offset + bytes,
                                 source.file.string(), available));
  }
  return source;
}

namespace {

Status replace_values(const InitializerSpans& values, onnx::TensorProto& tensor) {
  const auto given = values.find(tensor.name());
  if (given == values.end()) return {};
  if (tensor.data_type() != onnx::TensorProto::FLOAT || tensor.raw_data().size() != given->second.size_bytes()) {
    return Error{ErrorCode::kMismatch, fmt::format("initializer '{}' has another size", tensor.name())};
  }
  tensor.set_raw_data(given->second.data(), given->second.size_bytes());
  return {};
}

}  // namespace

Status move_weights_beside(const std::filesystem::path& path, const InitializerSpans& values) {
  constexpr std::size_t kSmallest = 64 << 10;
  SLUICE_ASSIGN(const std::shared_ptr<onnx::ModelProto> model, read_model(path));
  const std::filesystem::path beside = path.string() + ".weights";
  std::ofstream file(beside, std::ios::binary);
  for (onnx::TensorProto& tensor : *model->mutable_graph()->mutable_initializer()) {
    SLUICE_RETURN_IF_ERROR(replace_values(values, tensor));
    if (tensor.raw_data().size() < kSmallest) continue;
    const auto add = [&](const char* key, const std::string& value) {
      onnx::StringStringEntryProto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", beside.filename().string());
    add("offset", std::to_string(file.tellp()));
    add("length", std::to_string(tensor.raw_data().size()));
    file.write(tensor.raw_data().data(), static_cast<std::streamsize>(tensor.raw_data().size()));
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    tensor.clear_raw_data();
  }
  if (!file.flush()) return Error{ErrorCode::kIo, fmt::format("cannot write {}: is the disk full?", beside.string())};
  return write_model(path, *model);
}

}  // namespace sluice
