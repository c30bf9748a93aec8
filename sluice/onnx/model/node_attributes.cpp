#include "sluice/onnx/model/node_attributes.hpp"

#include <fmt/format.h>

namespace sluice::onnx {

using ::onnx::AttributeProto;

const AttributeProto* NodeAttributes::find(const std::string& name) const {
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const AttributeProto* NodeAttributes::take(const std::string& name, AttributeProto::AttributeType type) {
  read_.insert(name);
  const AttributeProto* found = find(name);
  if (found == nullptr || found->type() == type) return found;
  wrong_type_ = name;
  return nullptr;
}

std::int64_t NodeAttributes::integer(const std::string& name, std::int64_t otherwise) {
  const AttributeProto* found = take(name, AttributeProto::INT);
  return found == nullptr ? otherwise : found->i();
}

float NodeAttributes::real(const std::string& name, float otherwise) {
  const AttributeProto* found = take(name, AttributeProto::FLOAT);
  return found == nullptr ? otherwise : found->f();
}

std::string NodeAttributes::text(const std::string& name, const std::string& otherwise) {
  const AttributeProto* found = take(name, AttributeProto::STRING);
  return found == nullptr ? otherwise : found->s();
}

std::optional<std::vector<std::int64_t>> NodeAttributes::integers(const std::string& name) {
  const AttributeProto* found = take(name, AttributeProto::INTS);
  if (found == nullptr) return std::nullopt;
  return std::vector<std::int64_t>(found->ints().begin(), found->ints().end());
}

const ::onnx::TensorProto* NodeAttributes::tensor(const std::string& name) {
  const AttributeProto* found = take(name, AttributeProto::TENSOR);
  return found == nullptr ? nullptr : &found->t();
}

std::string NodeAttributes::problem() const {
  if (!wrong_type_.empty()) return fmt::format("attribute '{}' has the wrong type", wrong_type_);
  for (const AttributeProto& attribute : node_.attribute()) {
    if (!read_.contains(attribute.name())) return fmt::format("attribute '{}' is not known", attribute.name());
  }
  return {};
}

}  // namespace sluice::onnx
