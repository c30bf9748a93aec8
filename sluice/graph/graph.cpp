#include "sluice/graph/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <utility>

#include "sluice/base/hash.hpp"

namespace sluice {
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

void hash_attributes(Hasher& hasher, const Attributes& attributes) {
  hash_list(hasher, std::to_array<std::int64_t>({attributes.kernel_h, attributes.kernel_w, attributes.stride,
                                                 attributes.padding, attributes.relu, attributes.out_begin,
                                                 attributes.out_end, attributes.partial}));
  for (const float value : {attributes.epsilon, attributes.momentum, attributes.weight_decay}) {
    hash_float(hasher, value);
  }
}

void hash_op(Hasher& hasher, const Op& op) {
  hasher.add(static_cast<std::int64_t>(op.kind)).add(static_cast<std::int64_t>(op.phase)).add(std::int64_t{op.layer});
  hash_attributes(hasher, op.attributes);
  hash_list(hasher, op.inputs);
  hash_list(hasher, op.outputs);
  hasher.add(static_cast<std::int64_t>(op.implementations.size()));
  for (const Implementation& implementation : op.implementations) {
    hasher.add(std::string_view(implementation.name)).add(implementation.workspace_bytes);
  }
}

std::string attribute_text(const Attributes& a) {
  return fmt::format("k{}x{} s{} p{} relu{} out{}:{} partial{} eps{} mom{} wd{}", a.kernel_h, a.kernel_w, a.stride,
                     a.padding, int{a.relu}, a.out_begin, a.out_end, int{a.partial}, a.epsilon, a.momentum,
                     a.weight_decay);
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
  std::string implementations;
  for (const Implementation& implementation : op.implementations) implementations += " " + implementation.name;
  return fmt::format("{} {} |{} ->{} |{} |{}", to_string(op.kind), attribute_text(op.attributes),
                     operand_text(graph, op.inputs), operand_text(graph, op.outputs), shared_storage_text(op),
                     implementations);
}

}  // namespace sluice
