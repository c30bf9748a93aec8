#include "sluice/kernels/reference/index_space.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

// The product is [..., M, N] before it is transposed by `perm_y`: every element of y comes from a row of a and a column
// of b, each found where its permutation took it from.
void matmul(const ReferenceCall& call) {
  const auto a = call.input<float>(0);
  const auto b = call.input<float>(1);
  const auto y = call.output<float>(0);
  const graph::ProductAttributes& attributes = call.as<graph::ProductAttributes>();
  const std::int64_t depth = permuted(call.input_shape(0), attributes.perm_a).back();
  for_each_index(call.output_shape(0), [&](const graph::Shape& y_index, std::size_t i) {
    graph::Shape a_index = unpermuted(y_index, attributes.perm_y);
    graph::Shape b_index = a_index;
    const std::size_t last = a_index.size() - 1;
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      a_index[last] = k;
      b_index[last - 1] = k;
      sum += double{a[offset_of(call.input_shape(0), unpermuted(a_index, attributes.perm_a))]} *
             b[offset_of(call.input_shape(1), unpermuted(b_index, attributes.perm_b))];
    }
    y[i] = static_cast<float>(attributes.factor * sum);
  });
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kMatMul, matmul)

}  // namespace sluice::kernels
