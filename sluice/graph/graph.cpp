#include "sluice/graph/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <utility>

#include "sluice/base/hash.hpp"

namespace sluice::graph {
namespace {

void hash_float(Hasher& hasher, float value) { hasher.add(std::int64_t{std::bit_cast<std::int32_t>(value)}); }

template <typename Integers>
void hash_list(Hasher& hasher, const Integers& values) {
  hasher.add(static_cast<std::int64_t>(values.size()));
  for (const auto value : values) hasher.add(static_cast<std::int64_t>(value));
}

void hash_tensor(Hasher& hasher, const Tensor& tensor) {
  hash_list(hasher, tensor.shape);
  hasher.add(static_cast<std::int64_t>(tensor.dtype)).add(static_cast<std::int64_t>(tensor.role));
  hasher.add(tensor.bytes).add(std::string_view(tensor.layout));
}

template <typename Integers>
void hash_lists(Hasher& hasher, const std::initializer_list<Integers>& lists) {
  for (const auto& list : lists) hash_list(hasher, list);
}

void hash_attributes(Hasher& hasher, const Attributes& a) {
  const Window& w = a.window;
  hash_list(hasher, std::to_array<std::int64_t>({w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h,
                                                 w.dilation_w, w.pad_top, w.pad_left, w.pad_bottom, w.pad_right}));
  hash_list(hasher, std::to_array<std::int64_t>(
                        {a.groups, a.count_padding, static_cast<std::int64_t>(a.activation),
                         static_cast<std::int64_t>(a.unary), static_cast<std::int64_t>(a.binary),
                         static_cast<std::int64_t>(a.reduce), a.axis, a.out_begin, a.out_end, a.partial, a.accumulate,
                         a.causal, a.state, a.carry, a.size, static_cast<std::int64_t>(a.stream), a.decoupled}));
  hash_lists(hasher, {a.axes, a.perm_a, a.perm_b, a.perm_y, a.shape});
  for (const double value :
       {double{a.alpha}, double{a.beta}, double{a.rate}, double{a.epsilon}, a.momentum, a.weight_decay, a.beta2}) {
    hash_float(hasher, static_cast<float>(value));
  }
  if (a.nesterov) hasher.add(std::string_view("nesterov"));
  if (a.delayed) hasher.add(std::string_view("delayed"));
  if (a.scaled) hasher.add(std::string_view("scaled"));
  if (a.matrix) hasher.add(std::string_view(a.matrix.digest()));
}

void hash_op(Hasher& hasher, const Op& op) {
  hasher.add(static_cast<std::int64_t>(op.kind)).add(static_cast<std::int64_t>(op.phase)).add(std::int64_t{op.layer});
  hash_attributes(hasher, op.attributes);
  hash_list(hasher, op.inputs);
  hash_list(hasher, op.outputs);
  hasher.add(std::string_view(op.views));
  hasher.add(static_cast<std::int64_t>(op.implementations.size()));
  for (const Implementation& implementation : op.implementations) {
    hasher.add(std::string_view(implementation.name)).add(implementation.workspace_bytes);
  }
  if (op.processor != kMainProcessor) hasher.add(std::int64_t{op.processor});
  if (!op.no_kernel_on.empty()) hash_list(hasher, op.no_kernel_on);
}

// A dropout's stream is left out: any takes the same time.
std::string attribute_text(const Attributes& a) {
  const Window& w = a.window;
  return fmt::format("k{}x{} s{}x{} d{}x{} p{},{},{},{} g{} cp{} act{} u{} b{} r{} axis{} axes{} perm{}|{}|{} shape{}",
                     w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h, w.dilation_w, w.pad_top, w.pad_left,
                     w.pad_bottom, w.pad_right, a.groups, int{a.count_padding}, static_cast<int>(a.activation),
                     static_cast<int>(a.unary), static_cast<int>(a.binary), static_cast<int>(a.reduce), a.axis,
                     fmt::join(a.axes, ","), fmt::join(a.perm_a, ","), fmt::join(a.perm_b, ","),
                     fmt::join(a.perm_y, ","), fmt::join(a.shape, ",")) +
         fmt::format(" out{}:{} partial{} acc{} causal{} state{} carry{} alpha{} beta{} size{} rate{}", a.out_begin,
                     a.out_end, int{a.partial}, int{a.accumulate}, int{a.causal}, int{a.state}, int{a.carry}, a.alpha,
                     a.beta, a.size, a.rate) +
         fmt::format(" eps{} mom{} wd{} beta2 {} decoupled{}", a.epsilon, static_cast<float>(a.momentum),
                     static_cast<float>(a.weight_decay), static_cast<float>(a.beta2), int{a.decoupled}) +
         (a.nesterov ? " nesterov" : "") + (a.delayed ? " delayed" : "") + (a.scaled ? " scaled" : "") +
         (a.matrix ? " matrix" + a.matrix.digest() : std::string());
}

std::string operand_text(const Graph& graph, const std::vector<TensorId>& operands) {
  std::string text;
  for (const TensorId id : operands) {
    const Tensor& tensor = graph.tensor(id);
    text += fmt::format(" {}[{}]{}", to_string(tensor.dtype), fmt::join(tensor.shape, ","), tensor.layout);
  }
  return text;
}

// Which operands are one storage: running in place is other work than running out of place.
std::string shared_storage_text(const Op& op) {
  std::string text;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.inputs[i] == op.outputs[o]) text += fmt::format(" {}={}", i, o);
    }
  }
  return text;
}

}  // namespace

TensorId Graph::add_tensor(Tensor tensor) {
  if (tensor.bytes == 0) tensor.bytes = element_count(tensor.shape) * size_of(tensor.dtype);
  tensors_.push_back(std::move(tensor));
  return static_cast<TensorId>(tensors_.size() - 1);
}

OpIndex Graph::add_op(Op op) {
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const TensorId id : *operands) {
      SLUICE_CHECK(id >= 0 && id < tensor_count(), "op " + op.name + " names an unknown tensor");
    }
  }
  ops_.push_back(std::move(op));
  return static_cast<OpIndex>(ops_.size() - 1);
}

std::string Graph::fingerprint() const {
  Hasher hasher;
  hasher.add(std::int64_t{tensor_count()});
  for (const Tensor& tensor : tensors_) hash_tensor(hasher, tensor);
  hasher.add(std::int64_t{op_count()});
  for (const Op& op : ops_) hash_op(hasher, op);
  return hasher.hex();
}

std::string op_signature(const Graph& graph, const Op& op) {
  const std::string implementation = op.implementations.empty() ? "" : " " + op.implementations.front().name;
  return fmt::format("{} {} |{} ->{} |{} |{} |{}", to_string(op.kind), attribute_text(op.attributes),
                     operand_text(graph, op.inputs), operand_text(graph, op.outputs), shared_storage_text(op),
                     implementation, op.views);
}

}  // namespace sluice::graph
