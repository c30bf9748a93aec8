#include "sluice/onnx/convert/convert_nodes.hpp"

#include <fmt/format.h>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"

namespace sluice::onnx {
namespace {

constexpr std::size_t kMostListed = 100;

// Ops that begin a layer; norms, activations and arithmetic belong to the layer before them.
bool begins_layer(const ::onnx::NodeProto& node) {
  static const std::set<std::string> ops{"Conv",
                                         "ConvTranspose",
                                         "Gemm",
                                         "MatMul",
                                         "LSTM",
                                         "Gather",
                                         "MaxPool",
                                         "AveragePool",
                                         "Concat",
                                         "Softmax",
                                         "GlobalAveragePool",
                                         "GlobalMaxPool",
                                         "LayerNormalization"};
  return ops.contains(node.op_type());
}

// Everything that is wrong with the nodes of a model.
class Complaints {
 public:
  void add(const ::onnx::NodeProto& node, const std::string& what) {
    ++count_;
    if (lines_.size() < kMostListed) lines_.push_back(fmt::format("\n  node {}: {}", Network::describe(node), what));
  }
  bool empty() const { return count_ == 0; }
  Error error() const {
    std::string text = fmt::format("{} node{} cannot be imported:", count_, count_ == 1 ? "" : "s");
    for (const std::string& line : lines_) text += line;
    if (count_ > lines_.size()) text += fmt::format("\n  and {} more", count_ - lines_.size());
    return {ErrorCode::kBadInput, text};
  }

 private:
  std::size_t count_ = 0;
  std::vector<std::string> lines_;
};

bool is_standard(const ::onnx::NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

// Whether all inputs came out of the walk; a node after one that failed is not blamed.
bool has_inputs(Node& node) {
  for (int i = 0; i < node.inputs(); ++i) {
    if (node.has(i) && node.value(i).kind == Value::Kind::kUnknown) return false;
  }
  return true;
}

// Ops whose result may have another type than their first input say so themselves; Where's has its second's.
void pass_integral_on(Node& node) {
  static const std::set<std::string> own_type{"Cast", "CastLike", "OneHot"};
  const std::string& op = node.proto.op_type();
  if (own_type.contains(op) || !node.is_integral(op == "Where" ? 1 : 0)) return;
  for (int i = 0; i < node.proto.output_size(); ++i) {
    Value value = node.conversion.value(node.proto.output(i));
    if (value.kind != Value::Kind::kTensor || value.integral) continue;
    value.integral = true;
    node.conversion.set(node.proto.output(i), value);
  }
}

Status convert_node(Node& node) {
  SLUICE_ASSIGN(auto folded, fold_node(node));
  if (folded) {
    for (std::size_t i = 0; i < folded->size(); ++i) {
      node.set(array_value(std::move((*folded)[i])), as_id<int>(i));
    }
  } else {
    const Converter convert = find_converter(node.proto.op_type());
    if (convert == nullptr) return node.error("is supported only where its inputs are constants");
    if (node.inputs() == 0 || !node.has(0)) return node.error("has no inputs");
    if (begins_layer(node.proto)) node.builder.begin_layer(node.name());
    SLUICE_RETURN_IF_ERROR(convert(node));
    if (!node.builder.failed()) pass_integral_on(node);
  }
  const std::string problem = node.attributes.problem();
  return problem.empty() ? Status() : Status(node.error(problem));
}

}  // namespace

Status convert_nodes(Conversion& conversion, const std::vector<const ::onnx::NodeProto*>& order) {
  Complaints complaints;
  for (const ::onnx::NodeProto* proto : order) {
    if (conversion.is_absorbed(*proto)) continue;
    const bool known =
        is_standard(*proto) && (find_converter(proto->op_type()) != nullptr || is_folded(proto->op_type()));
    if (!known) {
      complaints.add(*proto, "this op is not supported");
      continue;
    }
    Node node(conversion, *proto);
    if (!has_inputs(node)) continue;
    const Status converted = convert_node(node);
    SLUICE_RETURN_IF_ERROR(conversion.check_constants());
    if (!converted.ok()) complaints.add(*proto, converted.error().message);
    if (conversion.builder.failed()) {
      complaints.add(*proto, conversion.builder.finish().error().message);
      break;
    }
  }
  if (!complaints.empty()) return complaints.error();
  return {};
}

}  // namespace sluice::onnx
