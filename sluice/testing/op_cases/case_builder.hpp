// Makes an OpCase: tensors and ops by name; an op's name is its first output's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sluice/graph/optimizers/optimizer_table.hpp"
#include "sluice/testing/op_cases/op_cases.hpp"

namespace sluice::testing {

// Of a convolution or a pooling: padded at the bottom and at the right.
inline const graph::Window kBehindOnly{
    .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .pad_bottom = 1, .pad_right = 1};

class CaseBuilder {
 public:
  explicit CaseBuilder(std::string name) {
    case_.name = std::move(name);
    case_.graph.name = case_.name;
    case_.graph.layers = {"layer"};
  }

  graph::TensorId tensor(const std::string& name, graph::Shape shape, graph::Role role = graph::Role::kActivation,
                         graph::DType dtype = graph::DType::kF32) {
    return case_.graph.add_tensor({.name = name, .shape = std::move(shape), .dtype = dtype, .role = role});
  }
  graph::TensorId gradient(const std::string& name, graph::Shape shape) {
    return tensor(name, std::move(shape), graph::Role::kActivationGradient);
  }
  graph::TensorId parameter(const std::string& name, graph::Shape shape) {
    return tensor(name, std::move(shape), graph::Role::kParameter);
  }
  graph::TensorId parameter_gradient(const std::string& name, graph::Shape shape) {
    return tensor(name, std::move(shape), graph::Role::kGradient);
  }
  // Integers in [0, bound), or tokens that a mask hides, with -1 among them.
  graph::TensorId integers(const std::string& name, graph::Shape shape, std::int64_t bound,
                           graph::Content content = graph::Content::kTokens) {
    const graph::TensorId id = tensor(name, std::move(shape), graph::Role::kInput, graph::DType::kI32);
    case_.graph.tensor(id).bound = bound;
    case_.graph.tensor(id).content = content;
    return id;
  }
  // A leaf whose values are this much larger or smaller.
  graph::TensorId scaled(graph::TensorId leaf, float factor) {
    case_.graph.tensor(leaf).init = {.kind = graph::Init::Kind::kNormal, .stddev = factor};
    return leaf;
  }
  // A leaf with one value throughout.
  graph::TensorId constant(graph::TensorId leaf, float value) {
    case_.graph.tensor(leaf).init = {.kind = graph::Init::Kind::kConstant, .stddev = value};
    return leaf;
  }
  const graph::Shape& shape(graph::TensorId id) const { return case_.graph.tensor(id).shape; }

  void op(graph::OpKind kind, const graph::Attributes& attributes, std::vector<graph::TensorId> inputs,
          std::vector<graph::TensorId> outputs) {
    add(kind, attributes, {}, std::move(inputs), std::move(outputs));
  }
  // An op of a part (graph::Slice).
  void op_of_slice(graph::OpKind kind, const graph::Slice& slice, std::vector<graph::TensorId> inputs,
                   std::vector<graph::TensorId> outputs) {
    add(kind, {}, slice, std::move(inputs), std::move(outputs));
  }
  // Parameter update after the backward ops: the momentum and weights then show where the gradient really went.
  void update(graph::TensorId w, graph::TensorId dw) {
    const graph::TensorId momentum = tensor("momentum", shape(w), graph::Role::kOptimizerState);
    op(graph::OpKind::kSgdUpdate, graph::UpdateAttributes{.momentum = 0.9F, .weight_decay = 0.1F}, {w, dw, momentum},
       {w, momentum});
  }
  void claim(GradientClaim claim) { case_.gradients.push_back(std::move(claim)); }
  OpCase finish() { return std::move(case_); }

 private:
  void add(graph::OpKind kind, const graph::Attributes& attributes, const graph::Slice& slice,
           std::vector<graph::TensorId> inputs, std::vector<graph::TensorId> outputs) {
    const std::string name = case_.graph.tensor(outputs.at(0)).name + "#" + std::to_string(case_.graph.op_count());
    graph::Op op{.name = name, .kind = kind, .attributes = attributes, .slice = slice};
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    case_.graph.add_op(std::move(op));
  }

  OpCase case_;
};

// The cases by family of ops; each appends its own.
// clang-format off
#define SLUICE_CASE_FAMILIES(FAMILY) \
  FAMILY(add_convolution_cases) \
  FAMILY(add_pooling_cases) \
  FAMILY(add_norm_cases) \
  FAMILY(add_elementwise_cases) \
  FAMILY(add_movement_cases) \
  FAMILY(add_product_cases) \
  FAMILY(add_sequence_cases) \
  FAMILY(add_loss_cases) \
  FAMILY(add_update_cases) \
  FAMILY(add_running_sum_cases)
// clang-format on
#define SLUICE_CASE_FAMILY(family) void family(std::vector<OpCase>& cases);
SLUICE_CASE_FAMILIES(SLUICE_CASE_FAMILY)
#undef SLUICE_CASE_FAMILY
#define SLUICE_UPDATE_CASES(kind, name) void add_##name##_update_cases(std::vector<OpCase>& cases);
SLUICE_UPDATES(SLUICE_UPDATE_CASES)
#undef SLUICE_UPDATE_CASES

}  // namespace sluice::testing
