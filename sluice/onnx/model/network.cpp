#include "sluice/onnx/model/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::onnx {
namespace {

using ::onnx::NodeProto;

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<Network> Network::of(const ::onnx::GraphProto& graph) {
  Network network;
  network.nodes_.assign(graph.node().begin(), graph.node().end());
  for (const ::onnx::ValueInfoProto& input : graph.input()) network.inputs_.push_back(input.name());
  for (const ::onnx::ValueInfoProto& output : graph.output()) network.outputs_.push_back(output.name());
  for (const NodeProto& node : network.nodes_) {
    for (const std::string& output : node.output()) {
      const auto [made, fresh] = network.makers_.emplace(output, &node);
      if (!output.empty() && !fresh) {
        return bad_input(
            fmt::format("value '{}' is made twice: by {} and by {}", output, describe(*made->second), describe(node)));
      }
    }
  }
  network.index();
  return Result<Network>(std::move(network));
}

void Network::index() {
  readers_.clear();
  for (const NodeProto& node : nodes_) {
    const bool reached = std::any_of(node.output().begin(), node.output().end(),
                                     [&](const std::string& output) { return makers_[output] == &node; });
    if (!reached) continue;
    for (const std::string& input : node.input()) readers_[input].push_back(&node);
  }
}

std::string Network::name_of(const NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 ? node.output(0) : std::string("?");
}

std::string Network::describe(const NodeProto& node) {
  return fmt::format("'{}' ({}{}{})", name_of(node), node.domain(), node.domain().empty() ? "" : ".", node.op_type());
}

const NodeProto* Network::maker(const std::string& value) const {
  const auto found = makers_.find(value);
  return value.empty() || found == makers_.end() ? nullptr : found->second;
}

const std::vector<const NodeProto*>& Network::readers(const std::string& value) const {
  static const std::vector<const NodeProto*> nobody;
  const auto found = readers_.find(value);
  return found == readers_.end() ? nobody : found->second;
}

const NodeProto* Network::only_reader(const std::string& value) const {
  const std::vector<const NodeProto*>& all = readers(value);
  return all.size() == 1 && !holds(outputs_, value) ? all.front() : nullptr;
}

void Network::replace_maker(const std::string& value, NodeProto node) {
  nodes_.push_back(std::move(node));
  makers_[value] = &nodes_.back();
  index();
}

std::vector<const NodeProto*> Network::nodes() const {
  std::vector<const NodeProto*> all;
  for (const NodeProto& node : nodes_) all.push_back(&node);
  return all;
}

// Depth first with a stack of our own: a chain of nodes may be longer than the thread's stack allows.
Result<std::vector<const NodeProto*>> Network::order_for(const std::string& value,
                                                         const Initializers& initializers) const {
  enum class Mark { kOpen, kDone };
  std::map<const NodeProto*, Mark> marks;
  std::vector<const NodeProto*> order;
  std::vector<std::pair<const NodeProto*, int>> stack;  // and the next input to visit
  const NodeProto* last = maker(value);
  if (last == nullptr) return bad_input(fmt::format("the model's output '{}' is made by no node", value));
  stack.emplace_back(last, 0);
  marks[last] = Mark::kOpen;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == node->input_size()) {
      marks[node] = Mark::kDone;
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    const std::string& input = node->input(next++);
    const bool given = input.empty() || initializers.find(input) != nullptr || holds(inputs_, input);
    const NodeProto* before = given ? nullptr : maker(input);
    if (given) continue;
    if (before == nullptr) {
      return bad_input(
          fmt::format("node {} reads '{}', which no node, input or initializer makes", describe(*node), input));
    }
    const auto mark = marks.find(before);
    if (mark == marks.end()) {
      marks[before] = Mark::kOpen;
      stack.emplace_back(before, 0);
    } else if (mark->second == Mark::kOpen) {
      return bad_input(fmt::format("the graph has a cycle through {} and {}", describe(*before), describe(*node)));
    }
  }
  return order;
}

std::optional<float> Network::number(const std::string& value, const Initializers& initializers) const {
  const auto read = [](const TensorSource& source) -> std::optional<float> {
    if (source.count != 1) return std::nullopt;
    const Result<HostArray> array = read_array(source);
    if (!array.ok()) return std::nullopt;
    return static_cast<float>(array->at(0));
  };
  if (const TensorSource* source = initializers.find(value)) return read(*source);
  const NodeProto* node = maker(value);
  if (node == nullptr || node->op_type() != "Constant") return std::nullopt;
  for (const ::onnx::AttributeProto& attribute : node->attribute()) {
    if (attribute.name() == "value_float") return attribute.f();
    if (attribute.name() != "value") continue;
    const Result<TensorSource> source = check_tensor(attribute.t(), {});
    if (source.ok()) return read(*source);
  }
  return std::nullopt;
}

}  // namespace sluice::onnx
