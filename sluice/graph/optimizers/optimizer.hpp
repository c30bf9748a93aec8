// What an optimizer is: one row each, in a file of its own. The command's options, documentation, settings in checkpoints and
// JSON, and the update ops of a training graph are made from it.
//
// What it keeps of a parameter are the slots of its kind of op (op_traits.hpp: slots_of). Partitioning, accumulation,
// delays, clipping and masters (graph/rewrite) treat all alike.
#pragma once

#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sluice/base/result.hpp"
#include "sluice/graph/ops/op.hpp"
#include "sluice/graph/optimizers/optimizer_table.hpp"

namespace sluice::graph {

#define SLUICE_OPTIMIZER_NAME(name, row) name,
enum class Optimizer { SLUICE_OPTIMIZERS(SLUICE_OPTIMIZER_NAME) };
#undef SLUICE_OPTIMIZER_NAME

inline constexpr int kMostBatches = 256;  // a step: its graph grows with them
inline constexpr int kMostRanks = 1024;

enum class Rematerialize { kNothing, kCheap, kChains };

struct ParameterSettings {
  double weight_decay = 0;
  float rate = 1;  // of the learning rate
};

struct OptimizerOptions {
  Optimizer optimizer = Optimizer::kSgd;
  // The optimizer's hyperparameters: those of its row (optimizer.hpp).
  double momentum = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-4;
  bool delayed = false;      // updates use the gradients of the step before (rewrite/delay_updates.hpp)
  float clip_norm = 0;       // of all gradients together (rewrite/clip_gradients.hpp); 0: they are not clipped
  int accumulate = 1;        // batches a step, whose gradients are averaged (rewrite/accumulate_gradients.hpp)
  int ranks = 1;             // processes that train together (rewrite/partition_updates.hpp)
  float loss_scale = 65536;  // at first, of gradients in fp16 (rewrite/scale_loss.hpp)
  Rematerialize rematerialize = Rematerialize::kCheap;
  // No option of a command:
  bool nesterov = false;                                       // SGD
  std::map<std::string, ParameterSettings> by_parameter = {};  // by name; the others have the above
};

// Of all ranks together.
inline int batches_a_step(const OptimizerOptions& options) { return options.accumulate * options.ranks; }

// A number that its user chooses.
struct Hyperparameter {
  std::string_view name;  // "weight decay": --weight-decay of the command, "weight_decay" in JSON
  std::string_view help;
  double OptimizerOptions::*value;
  double usual = 0;
  double least = 0;
  bool above_least = false;  // not at it
  double below = std::numeric_limits<double>::infinity();
};

struct OptimizerRow {
  std::string_view name;    // "adamw"
  std::string_view update;  // what it does to a parameter w by its gradient g, for people
  OpKind kind;              // of its updates
  double rate;              // the usual base learning rate
  std::span<const Hyperparameter> hyperparameters;
  void (*fill)(const OptimizerOptions& options, UpdateAttributes& update);  // all but weight decay and rate
};

const OptimizerRow& optimizer_row(Optimizer optimizer);
std::span<const Optimizer> all_optimizers();

std::string_view to_string(Optimizer optimizer);           // "adamw"
Result<Optimizer> parse_optimizer(std::string_view text);  // kBadInput for anything else

// "--weight-decay", "weight_decay".
std::string option_of(const Hyperparameter& hyperparameter);
std::string field_of(const Hyperparameter& hyperparameter);

// Sets those of the optimizer that `options` is of.
void use_usual_hyperparameters(OptimizerOptions& options);

// kBadInput where one is not in its range.
Status check_hyperparameters(const OptimizerOptions& options);

// "momentum 0.9, weight decay 0.0001".
std::string describe_hyperparameters(const OptimizerOptions& options);

// For --help: "0.02 for sgd, 0.001 for adam and adamw".
std::string usual_rates();
// The same of a hyperparameter by its name: "0.9 for sgd, adam and adamw".
std::string usual_values(std::string_view hyperparameter);

// The table of docs/training.md.
std::string optimizer_document();

}  // namespace sluice::graph
