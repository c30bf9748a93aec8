// Lion (Chen et al. 2023, algorithm 2): steps of one size, in the direction of a mean's signs; one value a parameter is kept.
#include <array>

#include "sluice/graph/optimizers/optimizer.hpp"

namespace sluice::graph {
namespace {

constexpr std::array kLionNumbers = std::to_array<Hyperparameter>({
    {.name = "momentum",
     .help = "Of the mean that an update goes by (beta 1), what stays",
     .value = &OptimizerOptions::momentum,
     .usual = 0.9,
     .below = 1},
    {.name = "beta2",
     .help = "Of the mean that is kept, what stays",
     .value = &OptimizerOptions::beta2,
     .usual = 0.99,
     .below = 1},
    {.name = "weight decay", .help = "Taken from the weights", .value = &OptimizerOptions::weight_decay, .usual = 1e-4},
});

void fill_lion(const OptimizerOptions& options, UpdateAttributes& update) {
  update.momentum = options.momentum;
  update.beta2 = options.beta2;
}

}  // namespace

OptimizerRow lion_optimizer() {
  return {.name = "lion",
          .update = "*w* -= rate (sign(*m* + (1 - beta 1) (*g* - *m*)) + decay *w*); *m* += (1 - beta 2) (*g* - *m*)",
          .kind = OpKind::kLionUpdate,
          .rate = 0.0001,
          .hyperparameters = kLionNumbers,
          .fill = fill_lion};
}

}  // namespace sluice::graph
