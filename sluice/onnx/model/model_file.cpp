#include "sluice/onnx/model/model_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>

#include "sluice/base/as_index.hpp"
#include "sluice/base/atomic_file.hpp"
#include "sluice/base/text/utf8.hpp"
#include "sluice/base/units.hpp"

namespace sluice::onnx {
namespace {

Error bad_model(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kBadInput, as_utf8(fmt::format("{}: {}", path.string(), what))};
}

Error cannot_read(const std::filesystem::path& path) {
  return {ErrorCode::kIo, fmt::format("cannot read {}: {}", path.string(), std::strerror(errno))};
}

// What protobuf writes, into a file; keeps the first error, which protobuf knows only as false.
class FileStream : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit FileStream(AtomicFile& file) : file_(file) {}

  bool Write(const void* bytes, int count) override {
    status_ = file_.write(std::span(static_cast<const std::byte*>(bytes), as_index(count)));
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  AtomicFile& file_;
  Status status_;
};

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

Status parse(const std::filesystem::path& path, ::onnx::ModelProto& model) {
  SLUICE_RETURN_IF_ERROR(check_size(path));
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return cannot_read(path);
  google::protobuf::io::FileInputStream stream(file);
  stream.SetCloseOnDelete(true);
  const QuietProtobuf quiet;
  if (!model.ParseFromZeroCopyStream(&stream)) {
    return bad_model(path, "not an ONNX model, or cut off: protobuf cannot read it");
  }
  return {};
}

template <typename Names>
bool all_utf8(const Names& names) {
  return std::ranges::all_of(names, [](const std::string& name) { return is_utf8(name); });
}

// Names become those of plans and checkpoints.
bool has_utf8_names(const ::onnx::GraphProto& graph) {
  const auto named = [](const auto& each) { return is_utf8(each.name()); };
  return std::ranges::all_of(graph.input(), named) && std::ranges::all_of(graph.output(), named) &&
         std::ranges::all_of(graph.initializer(), named) &&
         std::ranges::all_of(graph.node(), [&](const ::onnx::NodeProto& node) {
           return named(node) && is_utf8(node.op_type()) && is_utf8(node.domain()) && all_utf8(node.input()) &&
                  all_utf8(node.output()) &&
                  std::ranges::all_of(node.attribute(), [&](const ::onnx::AttributeProto& attribute) {
                    return named(attribute) && (!attribute.has_g() || has_utf8_names(attribute.g()));
                  });
         });
}

Status check_model(const std::filesystem::path& path, const ::onnx::ModelProto& model) {
  if (!model.has_graph() || model.graph().node_size() == 0) {
    return bad_model(path, "not an ONNX model: it has no graph with nodes");
  }
  if (!has_utf8_names(model.graph())) return bad_model(path, "a name in it is not UTF-8: export it again");
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

Result<std::shared_ptr<::onnx::ModelProto>> read_model(const std::filesystem::path& path) {
  auto model = std::make_shared<::onnx::ModelProto>();
  SLUICE_RETURN_IF_ERROR(parse(path, *model));
  SLUICE_RETURN_IF_ERROR(check_model(path, *model));
  return model;
}

std::string model_name(const std::filesystem::path& path) { return as_utf8(path.stem().string()); }

std::int64_t opset_of(const ::onnx::ModelProto& model) {
  for (const ::onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") return set.version();
  }
  return 0;
}

Status write_model(const std::filesystem::path& path, const ::onnx::ModelProto& model) {
  if (model.ByteSizeLong() > as_index(std::numeric_limits<int>::max())) {
    return bad_model(path, "the model would have more than the 2 GiB that protobuf can hold");
  }
  SLUICE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  FileStream stream(file);
  google::protobuf::io::CopyingOutputStreamAdaptor buffered(&stream);
  const bool whole = model.SerializeToZeroCopyStream(&buffered) && buffered.Flush();
  SLUICE_RETURN_IF_ERROR(stream.status());
  if (!whole) return bad_model(path, "protobuf cannot write the model");
  return file.commit();
}

}  // namespace sluice::onnx
