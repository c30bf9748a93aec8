#include "sluice/onnx/model_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "sluice/base/units.hpp"

namespace sluice {
namespace {

Error bad_model(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kBadInput, fmt::format("{}: {}", path.string(), what)};
}

Error io_error(const std::filesystem::path& path, const char* doing) {
  return {ErrorCode::kIo, fmt::format("cannot {} {}: {}", doing, path.string(), std::strerror(errno))};
}

// Protobuf reports what is wrong with a file on standard error, where it means nothing to the user.
class QuietProtobuf {
 public:
  QuietProtobuf() : before_(google::protobuf::SetLogHandler(nullptr)) {}
  ~QuietProtobuf() { google::protobuf::SetLogHandler(before_); }
  QuietProtobuf(const QuietProtobuf&) = delete;
  QuietProtobuf& operator=(const QuietProtobuf&) = delete;

 private:
  google::protobuf::LogHandler* before_;
};

Status check_size(const std::filesystem::path& path) {
  std::error_code wrong;
  if (!std::filesystem::is_regular_file(path, wrong)) {
    return Error{ErrorCode::kIo, fmt::format("cannot read {}: no such file", path.string())};
  }
  const auto size = static_cast<Bytes>(std::filesystem::file_size(path, wrong));
  if (size == 0) return bad_model(path, "the file is empty");
  if (size > std::numeric_limits<int>::max()) {
    return bad_model(path, fmt::format("the file has {}, but a model of protobuf has at most 2 GiB. Save it with its "
                                       "weights as external data",
                                       format_bytes(size)));
  }
  return {};
}

Status parse(const std::filesystem::path& path, onnx::ModelProto& model) {
  SLUICE_RETURN_IF_ERROR(check_size(path));
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return io_error(path, "read");
  google::protobuf::io::FileInputStream stream(file);
  stream.SetCloseOnDelete(true);
  const QuietProtobuf quiet;
  if (!model.ParseFromZeroCopyStream(&stream)) {
    return bad_model(path, "not an ONNX model, or cut off: protobuf cannot read it");
  }
  return {};
}

Status check_model(const std::filesystem::path& path, const onnx::ModelProto& model) {
  if (!model.has_graph() || model.graph().node_size() == 0) {
    return bad_model(path, "not an ONNX model: it has no graph with nodes");
  }
  const std::int64_t opset = opset_of(model);
  if (opset < kFirstOpset || opset > kLastOpset) {
    return bad_model(path, fmt::format("uses opset {}; Sluice reads opsets {} to {}. Export it again with one of those",
                                       opset, kFirstOpset, kLastOpset));
  }
  if (model.functions_size() > 0) {
    return bad_model(path,
                     fmt::format("defines {} functions of its own (the first is '{}'); export it with them inlined",
                                 model.functions_size(), model.functions(0).name()));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<onnx::ModelProto>> read_model(const std::filesystem::path& path) {
  auto model = std::make_shared<onnx::ModelProto>();
  SLUICE_RETURN_IF_ERROR(parse(path, *model));
  SLUICE_RETURN_IF_ERROR(check_model(path, *model));
  return model;
}

std::int64_t opset_of(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") return set.version();
  }
  return 0;
}

Status write_model(const std::filesystem::path& path, const onnx::ModelProto& model) {
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return bad_model(path, "the model would have more than the 2 GiB that protobuf can hold");
  }
  std::filesystem::path beside = path;
  beside += ".part";
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return io_error(beside, "write");
  const bool written = model.SerializeToFileDescriptor(file) && fsync(file) == 0;
  const bool closed = close(file) == 0;
  if (!written || !closed || std::rename(beside.c_str(), path.c_str()) != 0) {
    const Error error = io_error(path, "write");
    unlink(beside.c_str());
    return error;
  }
  return {};
}

}  // namespace sluice
