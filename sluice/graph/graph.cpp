#include "sluice/graph/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/hash.hpp"

namespace sluice::graph {
namespace {

template <typename Integers>
void hash_list(Hasher& hasher, const Integers& values) {
  hasher.add(std::ssize(values));
  for (const auto value : values) hasher.add(static_cast<std::int64_t>(value));
}

void hash_tensor(Hasher& hasher, const Tensor& tensor) {
  hash_list(hasher, tensor.shape);
  hasher.add(static_cast<std::int64_t>(tensor.dtype)).add(static_cast<std::int64_t>(tensor.role));
  hasher.add(tensor.bytes).add(std::string_view(tensor.layout));
}

void hash_op(Hasher& hasher, const Op& op) {
  hasher.add(static_cast<std::int64_t>(op.kind)).add(static_cast<std::int64_t>(op.phase)).add(std::int64_t{op.layer});
  hash_attributes(hasher, op.attributes, op.slice);
  hash_list(hasher, op.inputs);
  hash_list(hasher, op.outputs);
  hasher.add(std::string_view(op.views));
  hasher.add(std::ssize(op.implementations));
  for (const Implementation& implementation : op.implementations) {
    hasher.add(std::string_view(implementation.name)).add(implementation.workspace_bytes);
  }
  if (op.processor != kMainProcessor) hasher.add(std::int64_t{op.processor});
  if (!op.no_kernel_on.empty()) hash_list(hasher, op.no_kernel_on);
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
  return as_id<TensorId>(tensors_.size() - 1);
}

OpIndex Graph::add_op(Op op) {
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const TensorId id : *operands) {
      SLUICE_CHECK(id >= 0 && id < tensor_count(), "op " + op.name + " names an unknown tensor");
    }
  }
  if (std::holds_alternative<NoAttributes>(op.attributes)) op.attributes = default_attributes(op.kind);
  ops_.push_back(std::move(op));
  return as_id<OpIndex>(ops_.size() - 1);
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
  return fmt::format("{} {} |{} ->{} |{} |{} |{}", to_string(op.kind), attribute_text(op.attributes, op.slice),
                     operand_text(graph, op.inputs), operand_text(graph, op.outputs), shared_storage_text(op),
                     implementation, op.views);
}

}  // namespace sluice::graph
