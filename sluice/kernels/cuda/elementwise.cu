// Ops that go element by element, sums over dimensions, and copies.
#include "sluice/kernels/cuda/activation.cuh"
#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/columns.cuh"
#include "sluice/kernels/cuda/cuda_kernels.hpp"
#include "sluice/kernels/cuda/groups.cuh"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/operands.cuh"
#include "sluice/kernels/cuda/strided.cuh"
#include "sluice/kernels/dropout.hpp"

namespace sluice::kernels::cuda {
namespace {

void relu(const CudaCall& call) {
  map(call, [] __device__(float x) { return activate(graph::Activation::kRelu, x); });
}

void relu_backward(const CudaCall& call) {
  map_pairs(call, [] __device__(float y, float dy) { return y > 0 ? dy : 0.0F; });
}

void add(const CudaCall& call) {
  const graph::Activation activation = call.as<graph::AddAttributes>().activation;
  map_pairs(call, [=] __device__(float a, float b) { return activate(activation, a + b); });
}

__device__ float combine(graph::BinaryFunction function, float a, float b) {
  switch (function) {
    case graph::BinaryFunction::kAdd:
      return a + b;
    case graph::BinaryFunction::kSubtract:
      return a - b;
    case graph::BinaryFunction::kMultiply:
      return a * b;
    case graph::BinaryFunction::kDivide:
      return a / b;
    case graph::BinaryFunction::kMaximum:
      return a > b || a != a ? a : b;
    case graph::BinaryFunction::kMinimum:
      return a < b || a != a ? a : b;
    case graph::BinaryFunction::kPower:
      return powf(a, b);
    case graph::BinaryFunction::kModulo: {
      const float rest = fmodf(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case graph::BinaryFunction::kRemainder:
      return fmodf(a, b);
    case graph::BinaryFunction::kEqual:
      return a == b ? 1 : 0;
    case graph::BinaryFunction::kLess:
      return a < b ? 1 : 0;
    case graph::BinaryFunction::kLessOrEqual:
      return a <= b ? 1 : 0;
  }
  return 0;
}

// An operand that y overwrites has y's shape: each thread reads the one element of it that it then writes.
void binary(const CudaCall& call) {
  const graph::BinaryFunction function = call.as<graph::BinaryAttributes>().function;
  const graph::Shape& shape = *call.output(0).shape;
  if (*call.input(0).shape == shape && *call.input(1).shape == shape) {
    map_pairs(call, [=] __device__(float a, float b) { return combine(function, a, b); });
    return;
  }
  const Cells a = cells(call.input(0));
  const Cells b = cells(call.input(1));
  const Cells y = cells(call.output(0));
  const Strided in_a = broadcast_to(shape, *call.input(0).shape);
  const Strided in_b = broadcast_to(shape, *call.input(1).shape);
  for_each_element(call.stream, call.output(0).elements(),
                   [=] __device__(std::int64_t i) { y.set(i, combine(function, a[in_a(i)], b[in_b(i)])); });
}

void select(const CudaCall& call) {
  const graph::Shape& shape = *call.output(0).shape;
  const Cells condition = cells(call.input(0));
  const Cells a = cells(call.input(1));
  const Cells b = cells(call.input(2));
  const Cells y = cells(call.output(0));
  const Strided in_condition = broadcast_to(shape, *call.input(0).shape);
  const Strided in_a = broadcast_to(shape, *call.input(1).shape);
  const Strided in_b = broadcast_to(shape, *call.input(2).shape);
  for_each_element(call.stream, call.output(0).elements(), [=] __device__(std::int64_t i) {
    y.set(i, condition[in_condition(i)] != 0 ? a[in_a(i)] : b[in_b(i)]);
  });
}

void broadcast(const CudaCall& call) {
  const Cells x = cells(call.input(0));
  const Cells y = cells(call.output(0));
  const Strided in_x = broadcast_to(*call.output(0).shape, *call.input(0).shape);
  for_each_element(call.stream, call.output(0).elements(), [=] __device__(std::int64_t i) { y.set(i, x[in_x(i)]); });
}

// DropoutDraws on the device: the key depends on the step, which only the device knows.
void dropout(const CudaCall& call) {
  static_assert(kGroup == DropoutDraws::kBlock, "a group takes one draw");
  const DropoutDraws draws(0, 0, 0, call.as<graph::DropoutAttributes>().rate);
  const std::uint32_t threshold = draws.threshold();
  const float scale = draws.scale();
  const std::uint64_t stream = call.as<graph::DropoutAttributes>().stream;
  const StepOnDevice* const step = call.step;
  const GroupCells x(call.input(0));
  const GroupCells y(call.output(0));
  for_each_element(call.stream, y.groups(), [=] __device__(std::int64_t group) {
    const std::uint64_t key = random_bits(step->seed, stream, static_cast<std::uint64_t>(step->step));
    const std::uint64_t bits = mix64(key + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(group) + 1));
    Group values = x.load(group);
    for (int i = 0; i < kGroup; ++i) {
      const bool keeps = static_cast<std::uint32_t>((bits >> (16 * i)) & 0xffff) >= threshold;
      values.of[i] = keeps ? values.of[i] * scale : 0.0F;
    }
    y.store(group, values);
  });
}

void cast(const CudaCall& call) {
  if (call.input(0).dtype == graph::DType::kI32) {
    const auto* const x = static_cast<const std::int32_t*>(call.input(0).data);
    const Cells y = cells(call.output(0));
    for_each_element(call.stream, call.output(0).elements(),
                     [=] __device__(std::int64_t i) { y.set(i, static_cast<float>(x[i])); });
    return;
  }
  map(call, [] __device__(float x) { return x; });
}

void copy(const CudaCall& call) {
  const Operand& x = call.input(0);
  const auto bytes = static_cast<std::size_t>(x.elements() * size_of(x.dtype));
  check(cudaMemcpyAsync(call.output(0).data, x.data, bytes, cudaMemcpyDeviceToDevice, call.stream), "a copy");
}

// How the sums of a kReduce are made: `sums` of them, each of `length` terms.
struct Reduction {
  std::int64_t sums;
  std::int64_t length;
  Strided sum;   // where in x a sum's first term lies
  Strided term;  // where its terms lie, from there

  Reduction(const graph::Shape& x, const graph::Shape& y)
      : sums(graph::element_count(y)),
        length(sums == 0 ? 0 : graph::element_count(x) / sums),
        sum(y, strides_of(x)),
        term(summed_extents(x, y), strides_of(x)) {}

  __device__ std::int64_t place(std::int64_t which, std::int64_t k) const { return sum(which) + term(k); }

  // By blocks, one for each sum or part of it, where neighbouring terms lie side by side and are many. Else by threads:
  // where neighbouring sums lie side by side, neighbouring threads read side by side, too.
  bool by_blocks() const { return term.last_run() > 1 && length >= 2 * kWarp; }

 private:
  static graph::Shape summed_extents(const graph::Shape& x, const graph::Shape& y) {
    graph::Shape extents = x;
    for (std::size_t d = 0; d < x.size(); ++d)
      if (x[d] == y[d]) extents[d] = 1;
    return extents;
  }
};

Bytes reduce_workspace(const graph::Op& /*op*/, const std::vector<graph::Shape>& inputs,
                       const std::vector<graph::Shape>& outputs) {
  const Reduction reduction(inputs.at(0), outputs.at(0));
  if (reduction.by_blocks()) return sum_rows_workspace<1>(reduction.sums, reduction.length);
  return sum_columns_workspace(reduction.length, reduction.sums);
}

// One thread for each: maxima are rare and short beside sums.
void largest(const CudaCall& call, const Reduction& reduction) {
  const Cells x = cells(call.input(0));
  const Cells y = cells(call.output(0));
  for_each_element(call.stream, reduction.sums, [=] __device__(std::int64_t i) {
    float result = x[reduction.place(i, 0)];
    for (std::int64_t k = 1; k < reduction.length; ++k) {
      const float value = x[reduction.place(i, k)];
      result = result > value || result != result ? result : value;
    }
    y.set(i, result);
  });
}

void reduce(const CudaCall& call) {
  const Reduction reduction(*call.input(0).shape, *call.output(0).shape);
  if (call.as<graph::ReduceAttributes>().function == graph::ReduceFunction::kMaximum) return largest(call, reduction);
  const bool mean = call.as<graph::ReduceAttributes>().function == graph::ReduceFunction::kMean;
  const float divisor = mean ? static_cast<float>(reduction.length) : 1.0F;
  const Cells x = cells(call.input(0));
  const Cells y = cells(call.output(0));
  if (reduction.by_blocks()) {
    sum_rows<1>(
        call.stream, reduction.sums, reduction.length, call.workspace,
        [=] __device__(std::int64_t sum, std::int64_t k) { return Sums<1>{{x[reduction.place(sum, k)]}}; },
        [=] __device__(std::int64_t sum, const Sums<1>& total) { y.set(sum, total.of[0] / divisor); });
  } else {
    sum_columns(
        call.stream, reduction.length, reduction.sums, call.workspace,
        [=] __device__(std::int64_t k, std::int64_t sum) { return x[reduction.place(sum, k)]; },
        [=] __device__(std::int64_t sum, float total) { y.set(sum, total / divisor); });
  }
}

}  // namespace

KernelEntries elementwise_kernels() {
  return {
      {graph::OpKind::kRelu, relu},
      {graph::OpKind::kReluBackward, relu_backward},
      {graph::OpKind::kAdd, add},
      {graph::OpKind::kBinary, binary},
      {graph::OpKind::kSelect, select},
      {graph::OpKind::kBroadcast, broadcast},
      {graph::OpKind::kReduce, reduce, reduce_workspace},
      {graph::OpKind::kDropout, dropout},
      {graph::OpKind::kCast, cast},
      {graph::OpKind::kReshape, copy},
      {graph::OpKind::kReorder, copy},
  };
}

}  // namespace sluice::kernels::cuda
