#include "sluice/onnx/model/branches.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "sluice/onnx/model/network.hpp"

namespace sluice::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::NodeProto;
using NewNames = std::map<std::string, std::string>;

void rename_value(std::string& name, const NewNames& names) {
  const auto found = names.find(name);
  if (found != names.end()) name = found->second;
}

// Branches within a branch see its names. (Protobuf reads a hundred of them in one another at most.)
void rename_values(NodeProto& node, const NewNames& names) {
  for (std::string& input : *node.mutable_input()) rename_value(input, names);
  for (std::string& output : *node.mutable_output()) rename_value(output, names);
  for (::onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (!attribute.has_g()) continue;
    for (NodeProto& inner : *attribute.mutable_g()->mutable_node()) rename_values(inner, names);
    for (::onnx::ValueInfoProto& output : *attribute.mutable_g()->mutable_output()) {
      rename_value(*output.mutable_name(), names);
    }
  }
}

std::set<std::string> names_of(const GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const NodeProto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  return names;
}

// For what the branch makes under a name that is taken.
NewNames new_names(const GraphProto& branch, const std::string& prefix, std::set<std::string> taken) {
  NewNames names;
  for (const NodeProto& node : branch.node()) {
    for (const std::string& output : node.output()) {
      if (output.empty() || taken.insert(output).second) continue;
      std::string name = fmt::format("{}/{}", prefix, output);
      for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}/{}_{}", prefix, output, i);
      names.emplace(output, std::move(name));
    }
  }
  return names;
}

const GraphProto* find_branch(const NodeProto& node, const std::string& name) {
  for (const ::onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name && attribute.has_g()) return &attribute.g();
  }
  return nullptr;
}

// The node, taken out of the graph.
NodeProto taken_out(GraphProto& graph, const std::string& result) {
  NodeProto node;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).op_type() != "If" || graph.node(i).output_size() == 0 || graph.node(i).output(0) != result)
      continue;
    node.Swap(graph.mutable_node(i));
    graph.mutable_node()->DeleteSubrange(i, 1);
    break;
  }
  return node;
}

}  // namespace

Status take_branch(GraphProto& graph, const std::string& result, bool condition) {
  const NodeProto node = taken_out(graph, result);
  const char* const which = condition ? "then_branch" : "else_branch";
  const GraphProto* const found = find_branch(node, which);
  if (found == nullptr || found->output_size() != node.output_size() || found->sparse_initializer_size() > 0) {
    return bad_input(fmt::format("node {}: its {} does not make what it makes", Network::describe(node), which));
  }
  GraphProto branch = *found;
  const NewNames names = new_names(branch, Network::name_of(node), names_of(graph));
  for (::onnx::TensorProto& tensor : *branch.mutable_initializer()) graph.add_initializer()->Swap(&tensor);
  for (NodeProto& inner : *branch.mutable_node()) {
    rename_values(inner, names);
    graph.add_node()->Swap(&inner);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    std::string made = branch.output(i).name();
    rename_value(made, names);
    NodeProto& passes_on = *graph.add_node();
    passes_on.set_op_type("Identity");
    passes_on.set_name(fmt::format("{}/{}", Network::name_of(node), made));
    passes_on.add_input(made);
    passes_on.add_output(node.output(i));
  }
  return {};
}

}  // namespace sluice::onnx
