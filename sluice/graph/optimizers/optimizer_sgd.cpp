// Stochastic gradient descent with momentum: PyTorch's.
#include <array>

#include "sluice/graph/optimizers/optimizer.hpp"

namespace sluice::graph {
namespace {

constexpr std::array kSgdNumbers = std::to_array<Hyperparameter>({
    {.name = "momentum",
     .help = "Of the velocity, or of the gradients' mean (beta 1), what stays",
     .value = &OptimizerOptions::momentum,
     .usual = 0.9},
    {.name = "weight decay",
     .help = "Added to the gradient, or taken from the weights (adamw)",
     .value = &OptimizerOptions::weight_decay,
     .usual = 1e-4},
});

void fill_sgd(const OptimizerOptions& options, UpdateAttributes& update) {
  update.momentum = options.momentum;
  update.nesterov = options.nesterov;
}

}  // namespace

OptimizerRow sgd_optimizer() {
  return {.name = "sgd",
          .update = "*g* += decay *w*; *v* = momentum *v* + *g*; *w* -= rate *v*",
          .kind = OpKind::kSgdUpdate,
          .rate = 0.02,
          .hyperparameters = kSgdNumbers,
          .fill = fill_sgd};
}

}  // namespace sluice::graph
