// Adam (Kingma & Ba 2015, algorithm 1): decay in the gradient; AdamW (Loshchilov & Hutter 2019): decay on the weights.
#include <array>

#include "sluice/graph/optimizers/optimizer.hpp"

namespace sluice::graph {
namespace {

constexpr std::array kAdamNumbers = std::to_array<Hyperparameter>({
    {.name = "momentum",
     .help = "Of the gradients' mean (beta 1), what stays",
     .value = &OptimizerOptions::momentum,
     .usual = 0.9,
     .below = 1},
    {.name = "beta2",
     .help = "Of the mean that an update is not taken from, what stays",
     .value = &OptimizerOptions::beta2,
     .usual = 0.999,
     .below = 1},
    {.name = "epsilon",
     .help = "Added to the root of the squares' mean",
     .value = &OptimizerOptions::epsilon,
     .usual = 1e-8,
     .above_least = true},
    {.name = "weight decay",
     .help = "Added to the gradient, or taken from the weights (adamw)",
     .value = &OptimizerOptions::weight_decay,
     .usual = 1e-4},
});

void fill_adam(const OptimizerOptions& options, UpdateAttributes& update) {
  update.momentum = options.momentum;
  update.beta2 = options.beta2;
  update.epsilon = static_cast<float>(options.epsilon);
  update.decoupled = options.optimizer == Optimizer::kAdamW;
}

}  // namespace

OptimizerRow adam_optimizer() {
  return {.name = "adam",
          .update = "Kingma & Ba's; *g* += decay *w* first",
          .kind = OpKind::kAdamUpdate,
          .rate = 0.001,
          .hyperparameters = kAdamNumbers,
          .fill = fill_adam};
}

OptimizerRow adamw_optimizer() {
  return {.name = "adamw",
          .update = "Adam's; *w* -= rate decay *w* beside it",
          .kind = OpKind::kAdamUpdate,
          .rate = 0.001,
          .hyperparameters = kAdamNumbers,
          .fill = fill_adam};
}

}  // namespace sluice::graph
