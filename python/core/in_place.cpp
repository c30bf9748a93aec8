#include "python/core/in_place.hpp"

#include <ATen/CPUFunctions.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/library.h>

#include <atomic>

#include "python/core/torch_version.hpp"

namespace {

std::atomic<int> steps{0};  // that are running, of all threads

// A gradient that a backward pass without a second one has handed over belongs to the op alone: nobody else sees it.
bool may_be_written_over(const at::Tensor& gradient, const at::Tensor& output, at::ScalarType input) {
  return steps > 0 && !torch::autograd::get_current_graph_task_keep_graph() && gradient.use_count() == 1 &&
         gradient.storage().use_count() == 1 && gradient.is_contiguous() && gradient.sizes() == output.sizes() &&
         gradient.scalar_type() == input && (input == at::kFloat || input == at::kDouble);
}

at::Tensor log_softmax_backward(const at::Tensor& gradient, const at::Tensor& output, int64_t dim,
                                at::ScalarType input) {
  // The gradient of a row of logits needs the row's sum first, then each element alone.
  const bool rows = dim == -1 || dim == gradient.dim() - 1;
  if (!rows || !may_be_written_over(gradient, output, input)) {
    return at::cpu::_log_softmax_backward_data(gradient, output, dim, input);
  }
  at::Tensor result = gradient;
  return at::cpu::_log_softmax_backward_data_out(result, gradient, output, dim, input);
}

}  // namespace

void replace_ops() {
  const sluice::python::WarningsDropped quiet;  // PyTorch warns that there was such a kernel before: ours calls it
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
  library.impl("_log_softmax_backward_data", TORCH_FN(log_softmax_backward));
}

void begin_step() { ++steps; }
void end_step() { --steps; }
