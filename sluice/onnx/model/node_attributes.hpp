// The attributes of one node, read by name. What nobody asked for is reported: an attribute that is silently left out
// would change what the model computes.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sluice/onnx/model/proto.hpp"

namespace sluice::onnx {

class NodeAttributes {
 public:
  explicit NodeAttributes(const ::onnx::NodeProto& node) : node_(node) {}

  bool has(const std::string& name) const { return find(name) != nullptr; }
  std::int64_t integer(const std::string& name, std::int64_t otherwise);
  float real(const std::string& name, float otherwise);
  std::string text(const std::string& name, const std::string& otherwise);
  std::optional<std::vector<std::int64_t>> integers(const std::string& name);
  const ::onnx::TensorProto* tensor(const std::string& name);
  void ignore(const std::string& name) { read_.insert(name); }

  // "attribute 'x' is not known" and the like; empty when all were read and had the type asked for.
  std::string problem() const;

 private:
  const ::onnx::AttributeProto* find(const std::string& name) const;
  // Null when absent or of another type.
  const ::onnx::AttributeProto* take(const std::string& name, ::onnx::AttributeProto::AttributeType type);

  const ::onnx::NodeProto& node_;
  std::set<std::string> read_;
  std::string wrong_type_;
};

}  // namespace sluice::onnx
