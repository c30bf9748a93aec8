// The reference kernels: every op written straight from its definition, plain layouts, sums in double precision.
//
// Slow on purpose: these are the oracle that fast backends are tested against, so each must be obvious at a glance.
// They keep no state, need no workspace and ignore the thread count. They see fp32: operands of 16 bits are widened
// before and rounded behind (reference_backend.cpp), so a bf16 op is the fp32 op on rounded operands with rounded results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/backend.hpp"

namespace sluice::kernels {

// One op with the pointers of its operands, viewed with their types and shapes. Indices follow op_table.hpp.
class ReferenceCall {
 public:
  ReferenceCall(const graph::Graph& graph, const graph::Op& op, std::span<void* const> operands,
                const StepContext& context)
      : graph_(graph), op_(op), operands_(operands), context_(context) {}

  const graph::Op& op() const { return op_; }
  template <typename Family>
  const Family& as() const {
    return op_.as<Family>();
  }
  const graph::Slice& slice() const { return op_.slice; }
  const StepContext& context() const { return context_; }
  std::size_t input_count() const { return op_.inputs.size(); }
  std::size_t output_count() const { return op_.outputs.size(); }
  const graph::Shape& input_shape(std::size_t i) const { return graph_.tensor(op_.inputs.at(i)).shape; }
  const graph::Shape& output_shape(std::size_t i) const { return graph_.tensor(op_.outputs.at(i)).shape; }

  bool input_is_integer(std::size_t i) const { return graph_.tensor(op_.inputs.at(i)).dtype == graph::DType::kI32; }

  template <typename T>
  std::span<const T> input(std::size_t i) const {
    return {static_cast<const T*>(operands_[i]), as_index(graph::element_count(input_shape(i)))};
  }
  template <typename T>
  std::span<T> output(std::size_t i) const {
    return {static_cast<T*>(operands_[input_count() + i]), as_index(graph::element_count(output_shape(i)))};
  }
  // The same without their type, for ops that only move: 4 bytes an element, u8 1.
  std::span<const std::byte> input_bytes(std::size_t i) const {
    return {static_cast<const std::byte*>(operands_[i]), byte_count(op_.inputs.at(i))};
  }
  std::span<std::byte> output_bytes(std::size_t i) const {
    return {static_cast<std::byte*>(operands_[input_count() + i]), byte_count(op_.outputs.at(i))};
  }

 private:
  std::size_t byte_count(graph::TensorId id) const {
    const graph::Tensor& tensor = graph_.tensor(id);
    return as_index(graph::element_count(tensor.shape)) * (tensor.dtype == graph::DType::kU8 ? 1 : 4);
  }

  const graph::Graph& graph_;
  const graph::Op& op_;
  std::span<void* const> operands_;
  const StepContext& context_;
};

// A fused activation, and whether its gradient passes at a value before it.
double activate(graph::Activation activation, double value);
bool passes(graph::Activation activation, double value);

// One of each kind (graph/ops/op_table.hpp), named at the end of its family's file: SLUICE_REFERENCE_KERNEL(kRelu, relu).
template <graph::OpKind Kind>
void reference_kernel(const ReferenceCall& call);
#define SLUICE_DECLARED(kind, ...) \
  template <>                      \
  void reference_kernel<graph::OpKind::kind>(const ReferenceCall& call);
SLUICE_OPS(SLUICE_DECLARED)
#undef SLUICE_DECLARED
#define SLUICE_REFERENCE_KERNEL(kind, kernel)                             \
  template <>                                                             \
  void reference_kernel<graph::OpKind::kind>(const ReferenceCall& call) { \
    kernel(call);                                                         \
  }

// Runs any op but kInput.
void run_reference_kernel(const ReferenceCall& call);

}  // namespace sluice::kernels
