#include "sluice/kernels/onednn/loops/loop_kernel.hpp"

#include <algorithm>

namespace sluice::kernels {

Layout flat_layout(const OperandRequest& operand) {
  const Layout plain = plain_layout(operand.shape, operand.dtype);
  const Layout layout = operand.layout.value_or(plain);
  return layout.get_size() == plain.get_size() ? layout : plain;
}

std::int64_t stored_elements(const Layout& layout) {
  const std::size_t element = dnnl::memory::data_type_size(type_of(layout));
  return static_cast<std::int64_t>(layout.get_size() / element);
}

}  // namespace sluice::kernels
