// The nodes of a model as a list to be walked: who makes and who reads each value, and an order to visit them in.
//
// Patterns that exporters break into small ops are replaced in this list (patterns.hpp) before anything is converted.
// Thread safety: none needed.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/onnx/model/initializers.hpp"

namespace sluice::onnx {

class Network {
 public:
  // Errors (kBadInput): a value that two nodes make.
  static Result<Network> of(const ::onnx::GraphProto& graph);

  // "'/conv1/Conv' (Conv)"; a node without a name is known by its first output.
  static std::string describe(const ::onnx::NodeProto& node);
  static std::string name_of(const ::onnx::NodeProto& node);

  // The node that makes a value; null for inputs and initializers.
  const ::onnx::NodeProto* maker(const std::string& value) const;
  // The nodes that read a value; a node that reads it twice is there twice.
  const std::vector<const ::onnx::NodeProto*>& readers(const std::string& value) const;
  // The node that reads a value, if it is the only reader, reads it once, and the value is no output of the model; else
  // null.
  const ::onnx::NodeProto* only_reader(const std::string& value) const;

  // Makes `value` with a new node; the old one stays for whoever reads its other outputs.
  void replace_maker(const std::string& value, ::onnx::NodeProto node);

  // What the model's output `value` needs, makers before readers. Errors (kBadInput): a cycle, or a value nobody makes.
  Result<std::vector<const ::onnx::NodeProto*>> order_for(const std::string& value,
                                                          const Initializers& initializers) const;

  // A single number known without converting anything: an initializer's, or a Constant's.
  std::optional<float> number(const std::string& value, const Initializers& initializers) const;

  const std::vector<std::string>& inputs() const { return inputs_; }
  std::vector<const ::onnx::NodeProto*> nodes() const;

  Network() = default;
  Network(Network&&) = default;  // moved, not copied: it points into itself
  Network& operator=(Network&&) = default;

 private:
  void index();

  std::deque<::onnx::NodeProto> nodes_;
  std::vector<std::string> inputs_, outputs_;
  std::map<std::string, const ::onnx::NodeProto*> makers_;
  std::map<std::string, std::vector<const ::onnx::NodeProto*>> readers_;
};

}  // namespace sluice::onnx
