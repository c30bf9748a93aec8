#include "sluice/onnx/model/initializers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/model/element_type.hpp"
#include "sluice/onnx/model/external_data.hpp"
#include "sluice/onnx/model/half.hpp"

namespace sluice::onnx {
namespace {

using ::onnx::TensorProto;

std::string type_name(int type) {
  return ::onnx::TensorProto_DataType_IsValid(type) ? ::onnx::TensorProto_DataType_Name(type) : fmt::format("{}", type);
}

// How many elements the field that belongs to the type holds, when the data are not raw.
std::int64_t typed_count(const TensorProto& proto) {
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      return proto.float_data_size();
    case TensorProto::DOUBLE:
      return proto.double_data_size();
    case TensorProto::INT64:
      return proto.int64_data_size();
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return proto.uint64_data_size();
    default:
      return proto.int32_data_size();
  }
}

double typed_value(const TensorProto& proto, std::int64_t index) {
  const int i = as_id<int>(index);
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      return proto.float_data(i);
    case TensorProto::DOUBLE:
      return proto.double_data(i);
    case TensorProto::FLOAT16:
      return float_of_half(static_cast<std::uint16_t>(proto.int32_data(i)));
    case TensorProto::BFLOAT16:
      return float_of_bfloat16(static_cast<std::uint16_t>(proto.int32_data(i)));
    default:
      return proto.int32_data(i);
  }
}

template <typename T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

float raw_float(int type, const char* bytes) {
  if (type == TensorProto::FLOAT) return load<float>(bytes);
  if (type == TensorProto::DOUBLE) return static_cast<float>(load<double>(bytes));
  if (type == TensorProto::BFLOAT16) return float_of_bfloat16(load<std::uint16_t>(bytes));
  return float_of_half(load<std::uint16_t>(bytes));
}

// What of UINT64 does not fit comes out negative.
std::int64_t raw_integer(int type, const char* bytes) {
  switch (type) {
    case TensorProto::INT64:
    case TensorProto::UINT64:
      return load<std::int64_t>(bytes);
    case TensorProto::INT32:
      return load<std::int32_t>(bytes);
    case TensorProto::UINT32:
      return load<std::uint32_t>(bytes);
    case TensorProto::INT16:
      return load<std::int16_t>(bytes);
    case TensorProto::UINT16:
      return load<std::uint16_t>(bytes);
    case TensorProto::INT8:
      return load<std::int8_t>(bytes);
    case TensorProto::UINT8:
      return load<std::uint8_t>(bytes);
    default:
      return *bytes != 0 ? 1 : 0;
  }
}

std::int64_t typed_integer(const TensorProto& proto, std::int64_t index) {
  const int i = as_id<int>(index);
  switch (proto.data_type()) {
    case TensorProto::INT64:
      return proto.int64_data(i);
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return static_cast<std::int64_t>(proto.uint64_data(i));
    default:
      return proto.int32_data(i);
  }
}

// The raw bytes of elements [first, first + count): inside the model, or read into `storage`.
Result<const char*> raw_bytes(const TensorSource& source, std::int64_t first, std::int64_t count,
                              std::vector<char>& storage) {
  const std::int64_t size = element_bytes(source.proto->data_type());
  if (source.external.empty()) return source.proto->raw_data().data() + first * size;
  storage.resize(as_index(count * size));
  std::ifstream file(source.external, std::ios::binary);
  file.seekg(source.offset + first * size);
  if (!file.read(storage.data(), count * size)) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot read {} bytes of '{}' at {} of {}", count * size, source.proto->name(),
                             source.offset + first * size, source.external.string())};
  }
  return static_cast<const char*>(storage.data());
}

bool is_raw(const TensorSource& source) { return !source.external.empty() || source.proto->has_raw_data(); }

template <typename T>
std::string raw_of(std::span<const float> values, T (*convert)(float)) {
  std::string raw(values.size() * sizeof(T), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = convert(values[i]);
    std::memcpy(raw.data() + i * sizeof(T), &value, sizeof(T));
  }
  return raw;
}

}  // namespace

bool TensorSource::is_integer() const {
  switch (proto->data_type()) {
    case TensorProto::FLOAT:
    case TensorProto::DOUBLE:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return false;
    default:
      return true;
  }
}

Result<TensorSource> check_tensor(const TensorProto& proto, const std::filesystem::path& model_file) {
  TensorSource source;
  source.proto = &proto;
  source.shape.assign(proto.dims().begin(), proto.dims().end());
  const std::int64_t size = element_bytes(proto.data_type());
  if (size == 0) {
    return bad_input(fmt::format("has the type {}; Sluice reads floating-point numbers, integers and BOOL",
                                 type_name(proto.data_type())));
  }
  const std::optional<std::int64_t> count = checked_count(source.shape);
  if (!count) return bad_input(fmt::format("has the impossible shape {}", graph::to_string(source.shape)));
  source.count = *count;
  if (proto.data_location() == TensorProto::EXTERNAL) {
    SLUICE_ASSIGN(ExternalData data, find_external_data(proto, source.count * size, model_file));
    source.external = std::move(data.file);
    source.offset = data.offset;
    return source;
  }
  const bool raw = proto.has_raw_data();
  const std::int64_t got = raw ? std::ssize(proto.raw_data()) : typed_count(proto);
  const std::int64_t expected = raw ? *count * size : *count;
  if (got != expected) {
    return bad_input(fmt::format("has the shape {}, which takes {} {}, but holds {}", graph::to_string(source.shape),
                                 expected, raw ? "bytes" : "elements", got));
  }
  return source;
}

Result<HostArray> read_array(const TensorSource& source) {
  if (source.count > kMostArrayElements) {
    return bad_input(fmt::format("a constant of {} elements is computed with; Sluice folds at most {}", source.count,
                                 kMostArrayElements));
  }
  HostArray array;
  array.shape = source.shape;
  array.is_integer = source.is_integer();
  if (!array.is_integer) {
    array.floats.resize(as_index(source.count));
    SLUICE_RETURN_IF_ERROR(read_floats(source, 0, array.floats));
    return array;
  }
  array.ints.resize(as_index(source.count));
  const int type = source.proto->data_type();
  std::vector<char> storage;
  const char* raw = nullptr;
  if (is_raw(source)) {
    SLUICE_ASSIGN(raw, raw_bytes(source, 0, source.count, storage));
  }
  for (std::int64_t i = 0; i < source.count; ++i) {
    std::int64_t& value = array.ints[as_index(i)];
    value = raw != nullptr ? raw_integer(type, raw + i * element_bytes(type)) : typed_integer(*source.proto, i);
  }
  return array;
}

Status read_floats(const TensorSource& source, std::int64_t first, std::span<float> values) {
  const auto count = std::ssize(values);
  if (source.is_integer() || first < 0 || count > source.count - first) {
    return bad_input(
        fmt::format("'{}' has no floating-point elements {} to {}", source.proto->name(), first, first + count));
  }
  if (!is_raw(source)) {
    for (std::int64_t i = 0; i < count; ++i) {
      values[as_index(i)] = static_cast<float>(typed_value(*source.proto, first + i));
    }
    return {};
  }
  std::vector<char> storage;
  SLUICE_ASSIGN(const char* raw, raw_bytes(source, first, count, storage));
  const int type = source.proto->data_type();
  if (type == TensorProto::FLOAT) {
    std::copy_n(reinterpret_cast<const std::byte*>(raw), values.size_bytes(), std::as_writable_bytes(values).begin());
    return {};
  }
  for (std::int64_t i = 0; i < count; ++i) {
    values[as_index(i)] = raw_float(type, raw + i * element_bytes(type));
  }
  return {};
}

Result<std::string> read_bytes(const TensorSource& source) {
  std::vector<char> storage;
  SLUICE_ASSIGN(const char* raw, raw_bytes(source, 0, source.count, storage));
  return std::string(raw, as_index(source.count * element_bytes(source.proto->data_type())));
}

void write_floats(std::span<const float> values, TensorProto& proto) {
  proto.clear_float_data();
  proto.clear_double_data();
  proto.clear_int32_data();
  proto.clear_external_data();
  proto.clear_data_location();
  if (proto.data_type() == TensorProto::DOUBLE) {
    proto.set_raw_data(raw_of<double>(values, [](float value) -> double { return value; }));
  } else if (proto.data_type() == TensorProto::FLOAT16) {
    proto.set_raw_data(raw_of<std::uint16_t>(values, half_of_float));
  } else if (proto.data_type() == TensorProto::BFLOAT16) {
    proto.set_raw_data(raw_of<std::uint16_t>(values, bfloat16_of_float));
  } else {
    proto.set_raw_data(raw_of<float>(values, [](float value) { return value; }));
  }
}

Result<std::shared_ptr<const Initializers>> Initializers::open(std::shared_ptr<const ::onnx::ModelProto> model,
                                                               const std::filesystem::path& file) {
  auto result = std::make_shared<Initializers>();
  std::string wrong;
  ErrorCode code = ErrorCode::kBadInput;
  for (const TensorProto& proto : model->graph().initializer()) {
    Result<TensorSource> source = check_tensor(proto, file);
    if (!source.ok()) {
      wrong += fmt::format("\n  initializer '{}' {}", proto.name(), source.error().message);
      code = source.error().code;
    } else if (!result->sources_.emplace(proto.name(), *source).second) {
      wrong += fmt::format("\n  initializer '{}' is there twice", proto.name());
    } else {
      result->bytes_ += source->count * element_bytes(proto.data_type());
    }
  }
  for (const ::onnx::SparseTensorProto& sparse : model->graph().sparse_initializer()) {
    wrong += fmt::format("\n  initializer '{}' is sparse, which Sluice does not read", sparse.values().name());
  }
  if (!wrong.empty()) return Error{code, "the model's weights cannot be used:" + wrong};
  result->model_ = std::move(model);
  return std::shared_ptr<const Initializers>(std::move(result));
}

const TensorSource* Initializers::find(const std::string& name) const {
  const auto found = sources_.find(name);
  return found == sources_.end() ? nullptr : &found->second;
}

}  // namespace sluice::onnx
