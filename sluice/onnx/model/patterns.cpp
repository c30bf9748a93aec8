#include "sluice/onnx/model/patterns.hpp"

#include <cmath>

#include "sluice/base/as_index.hpp"

namespace sluice::onnx {
namespace {

using ::onnx::NodeProto;

bool near(double a, double b) { return std::abs(a - b) <= 1e-3 * std::abs(b); }

// A value as number * factor * factor * ...
struct Product {
  double number = 1;
  std::vector<std::string> factors;
};

// A value as number + term + term.
struct Sum {
  double number = 0;
  std::vector<std::string> terms;
};

class Finder {
 public:
  Finder(Network& network, const Initializers& initializers) : network_(network), initializers_(initializers) {}

  // The function that `root` is, as a node of ours; nothing when it is none.
  std::optional<NodeProto> match(const NodeProto& root) const {
    if (root.output_size() == 0 || root.input_size() < 2) return std::nullopt;
    if (root.op_type() == "Mul" || root.op_type() == "Div") {
      if (auto found = match_activation(root)) return found;
    }
    return root.op_type() == "Add" ? match_layer_norm(root) : std::nullopt;
  }

 private:
  std::optional<double> number(const std::string& value) const {
    const auto found = network_.number(value, initializers_);
    return found ? std::optional<double>(*found) : std::nullopt;
  }

  const NodeProto* made_by(const std::string& value, const char* op, int inputs) const {
    const NodeProto* node = network_.maker(value);
    return node != nullptr && node->op_type() == op && node->input_size() >= inputs ? node : nullptr;
  }

  // Multiplies out the factors of `value`, to a depth that no such function reaches.
  void expand(const std::string& value, Product& product, int depth) const {
    const NodeProto* node = network_.maker(value);
    const std::string op = node != nullptr && node->input_size() == 2 && depth > 0 ? node->op_type() : "";
    if (const auto known = number(value)) {
      product.number *= *known;
    } else if (op == "Mul") {
      expand(node->input(0), product, depth - 1);
      expand(node->input(1), product, depth - 1);
    } else if (op == "Div" && number(node->input(1)).value_or(0) != 0) {
      product.number /= *number(node->input(1));
      expand(node->input(0), product, depth - 1);
    } else if (op == "Pow" && number(node->input(1)) == 3.0) {
      for (int i = 0; i < 3; ++i) expand(node->input(0), product, depth - 1);
    } else {
      product.factors.push_back(value);
    }
  }

  Product product_of(const std::string& value) const {
    Product product;
    expand(value, product, 4);
    return product;
  }

  Sum sum_of(const std::string& value) const {
    Sum sum;
    const NodeProto* add = made_by(value, "Add", 2);
    if (add == nullptr) return {0, {value}};
    for (const std::string& input : add->input()) {
      if (const auto known = number(input)) {
        sum.number += *known;
      } else {
        sum.terms.push_back(input);
      }
    }
    return sum;
  }

  // value = number * x.
  bool is_scaled(const std::string& value, const std::string& x, double by) const {
    const Product product = product_of(value);
    return product.factors.size() == 1 && product.factors[0] == x && near(product.number, by);
  }

  // value = 1 + erf(x / sqrt 2).
  bool is_erf_gate(const std::string& value, const std::string& x) const {
    const Sum sum = sum_of(value);
    const NodeProto* erf = sum.terms.size() == 1 && near(sum.number, 1) ? made_by(sum.terms[0], "Erf", 1) : nullptr;
    return erf != nullptr && is_scaled(erf->input(0), x, std::sqrt(0.5));
  }

  // value = 0.044715 x^3.
  bool is_cube(const std::string& value, const std::string& x) const {
    const Product cube = product_of(value);
    return near(cube.number, 0.044715) && cube.factors == std::vector<std::string>{x, x, x};
  }

  // value = 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
  bool is_tanh_gate(const std::string& value, const std::string& x) const {
    const Sum sum = sum_of(value);
    const NodeProto* tanh = sum.terms.size() == 1 && near(sum.number, 1) ? made_by(sum.terms[0], "Tanh", 1) : nullptr;
    if (tanh == nullptr) return false;
    const Product inner = product_of(tanh->input(0));
    if (inner.factors.size() != 1 || !near(inner.number, std::sqrt(2 / M_PI))) return false;
    const Sum terms = sum_of(inner.factors[0]);
    if (terms.number != 0 || terms.terms.size() != 2) return false;
    return (terms.terms[0] == x && is_cube(terms.terms[1], x)) || (terms.terms[1] == x && is_cube(terms.terms[0], x));
  }

  // value = min(max(x + 3, 0), 6), the hard gate of MobileNet v3 times 6.
  bool is_hard_gate(const std::string& value, const std::string& x) const {
    const NodeProto* clip = made_by(value, "Clip", 3);
    if (clip == nullptr || number(clip->input(1)) != 0.0 || number(clip->input(2)) != 6.0) return false;
    const Sum sum = sum_of(clip->input(0));
    return sum.number == 3 && sum.terms == std::vector<std::string>{x};
  }

  std::optional<NodeProto> match_activation(const NodeProto& root) const {
    const Product product = product_of(root.output(0));
    if (product.factors.size() != 2) return std::nullopt;
    for (int i = 0; i < 2; ++i) {
      const std::string& x = product.factors[as_index(i)];
      const std::string& gate = product.factors[as_index(1 - i)];
      const NodeProto* sigmoid = made_by(gate, "Sigmoid", 1);
      if (near(product.number, 0.5) && is_erf_gate(gate, x)) return node_of(root, "sluice.Gelu", {x});
      if (near(product.number, 0.5) && is_tanh_gate(gate, x)) return node_of(root, "sluice.GeluTanh", {x});
      if (near(product.number, 1.0 / 6) && is_hard_gate(gate, x)) return node_of(root, "HardSwish", {x});
      if (product.number == 1 && sigmoid != nullptr && sigmoid->input(0) == x) return node_of(root, "sluice.Silu", {x});
    }
    return std::nullopt;
  }

  // d = x - mean(x), along the last axis.
  std::optional<std::string> centered_input(const std::string& d) const {
    const NodeProto* subtract = made_by(d, "Sub", 2);
    const NodeProto* mean = subtract != nullptr ? made_by(subtract->input(1), "ReduceMean", 1) : nullptr;
    if (mean == nullptr || mean->input(0) != subtract->input(0) || !is_last_axis(*mean)) return std::nullopt;
    return subtract->input(0);
  }

  static bool is_last_axis(const NodeProto& mean) {
    for (const ::onnx::AttributeProto& attribute : mean.attribute()) {
      if (attribute.name() == "axes" && attribute.ints_size() == 1 && attribute.ints(0) == -1) return true;
    }
    return false;
  }

  // value = sqrt(mean(d^2) + epsilon): epsilon.
  std::optional<double> deviation_epsilon(const std::string& value, const std::string& d) const {
    const NodeProto* root = made_by(value, "Sqrt", 1);
    if (root == nullptr) return std::nullopt;
    const Sum sum = sum_of(root->input(0));
    const NodeProto* mean = sum.terms.size() == 1 ? made_by(sum.terms[0], "ReduceMean", 1) : nullptr;
    if (mean == nullptr || !is_last_axis(*mean)) return std::nullopt;
    const NodeProto* power = made_by(mean->input(0), "Pow", 2);
    const NodeProto* square = made_by(mean->input(0), "Mul", 2);
    const bool by_power = power != nullptr && same_centered(power->input(0), d) && number(power->input(1)) == 2.0;
    const bool by_product = square != nullptr && square->input(0) == d && square->input(1) == d;
    return by_power || by_product ? std::optional<double>(sum.number) : std::nullopt;
  }

  // Some exporters subtract the mean twice; that is the same d.
  bool same_centered(const std::string& a, const std::string& b) const {
    if (a == b) return true;
    const auto x = centered_input(a);
    return x && x == centered_input(b);
  }

  // root = d / deviation * scale + shift, with scale and shift from the file.
  std::optional<NodeProto> match_layer_norm(const NodeProto& root) const {
    for (int i = 0; i < 2; ++i) {
      const NodeProto* scaled = made_by(root.input(i), "Mul", 2);
      if (scaled == nullptr || !is_vector(root.input(1 - i))) continue;
      for (int j = 0; j < 2; ++j) {
        const NodeProto* normal = made_by(scaled->input(j), "Div", 2);
        if (normal == nullptr || !is_vector(scaled->input(1 - j))) continue;
        const auto x = centered_input(normal->input(0));
        const auto epsilon = deviation_epsilon(normal->input(1), normal->input(0));
        if (!x || !epsilon) continue;
        NodeProto node = node_of(root, "LayerNormalization", {*x, scaled->input(1 - j), root.input(1 - i)});
        ::onnx::AttributeProto* attribute = node.add_attribute();
        attribute->set_name("epsilon");
        attribute->set_type(::onnx::AttributeProto::FLOAT);
        attribute->set_f(static_cast<float>(*epsilon));
        return node;
      }
    }
    return std::nullopt;
  }

  bool is_vector(const std::string& value) const {
    const TensorSource* source = initializers_.find(value);
    return source != nullptr && !source->is_integer() && source->shape.size() == 1;
  }

  static NodeProto node_of(const NodeProto& root, const char* op, const std::vector<std::string>& inputs) {
    NodeProto node;
    node.set_name(Network::name_of(root));
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(root.output(0));
    return node;
  }

  Network& network_;
  const Initializers& initializers_;
};

}  // namespace

void merge_patterns(Network& network, const Initializers& initializers) {
  const Finder finder(network, initializers);
  for (const NodeProto* node : network.nodes()) {
    if (auto found = finder.match(*node)) network.replace_maker(node->output(0), std::move(*found));
  }
}

}  // namespace sluice::onnx
