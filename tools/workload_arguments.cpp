// Which model, of what shape, trained how: the options of WorkloadArguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "sluice/graph/loss_scale.hpp"
#include "sluice/train/workload/onnx_workload.hpp"
#include "sluice/train/workload/precision.hpp"
#include "tools/options.hpp"

namespace sluice::cli {
namespace {

Status check_above_zero(std::string_view option, const std::optional<std::int64_t>& value) {
  if (!value || *value > 0) return {};
  return Error{ErrorCode::kBadInput, fmt::format("{} must be above 0, got {}", option, *value)};
}

}  // namespace

void WorkloadArguments::add_to(CLI::App& command) {
  command.add_option("model", model, "Built-in model (sluice models lists them)")->type_name("MODEL");
  command.add_option("--onnx", onnx, "Instead of a built-in model: this ONNX file, with its weights")
      ->check(CLI::ExistingFile);
  add_settings_to(command);
}

void WorkloadArguments::add_settings_to(CLI::App& command) {
  add_model_options(command);
  add_optimizer_options(command);
}

void WorkloadArguments::add_model_options(CLI::App& command) {
  constexpr const char* kGroup = "Model";
  const auto add = [&](const char* name, std::optional<std::int64_t>& value, const char* help) {
    command.add_option(name, value, fmt::format("{} (default: the model's usual)", help))->group(kGroup);
  };
  add("--batch", batch, "Samples per batch");
  add("--image-size", image_size, "Pixels a side");
  add("--classes", classes, "Number of classes; of a language model: size of the vocabulary");
  add("--sequence", sequence, "Tokens in a sequence");
  add("--width", width, "Channels of the first convolution, growth, or hidden features");
  add("--depth", depth, "Layers, or blocks a stage");
  command.add_option("--dropout", dropout, "Share of activations set to zero (default: the model's usual)")
      ->group(kGroup);
  command
      .add_option("--loss", loss, "Of an ONNX file: cross-entropy, next-token or masked-token; auto goes by its inputs")
      ->type_name("auto|cross-entropy|next-token|masked-token")
      ->capture_default_str()
      ->group(kGroup);
}

void WorkloadArguments::add_optimizer_options(CLI::App& command) {
  constexpr const char* kGroup = "Optimizer";
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str()->group(kGroup);
  };
  std::vector<std::string_view> names;
  for (const graph::Optimizer each : graph::all_optimizers()) names.push_back(to_string(each));
  add("--optimizer", optimizer, "What updates parameters")->type_name(fmt::format("{}", fmt::join(names, "|")));
  for (const graph::Optimizer optimizer_of : graph::all_optimizers()) {
    for (const graph::Hyperparameter& each : graph::optimizer_row(optimizer_of).hyperparameters) {
      const auto [value, is_new] = hyperparameters.try_emplace(std::string(each.name));
      if (!is_new) continue;
      command
          .add_option(graph::option_of(each), value->second,
                      fmt::format("{} (default: {})", each.help, graph::usual_values(each.name)))
          ->group(kGroup);
    }
  }
  add("--clip-norm", update.clip_norm, "Multiply gradients until their norm together is at most this; 0: as they are");
  add("--accumulate", update.accumulate, "Batches a step: their gradients are averaged before the update");
  add("--ranks", update.ranks,
      "Processes that train together, each with batches of its own (to train: mpirun -n RANKS sluice train)");
  add("--precision", precision,
      "fp32, bf16 for activations, or bf16-masters for parameters and gradients too, beside fp32 masters (where the "
      "CPU computes in it); fp16-masters stores them in fp16, computes in fp32 and scales losses")
      ->type_name("fp32|bf16|bf16-masters|fp16-masters");
  add("--loss-scale", update.loss_scale,
      "Of fp16, at first: gradients are so many times as large; halved when they overflow, doubled after 2,000 steps");
  add("--finer-slices", finer_slices,
      "Cut what decides the smallest budget so many times finer than usual: less memory, longer steps");
  command
      .add_flag(
          "--delay-updates", update.delayed,
          "Update by the gradients of the step before, beside the step that runs; goes on from checkpoints of runs "
          "that do not")
      ->group(kGroup);
  command
      .add_flag("--keep-norm-outputs", keep_norm_outputs,
                "Keep what is cheap to make again (batch norms' outputs, activation functions') for the backward pass")
      ->group(kGroup);
}

Result<models::ModelOptions> WorkloadArguments::shape() const {
  for (const auto& [name, value] :
       {std::pair("--image-size", image_size), std::pair("--classes", classes), std::pair("--sequence", sequence),
        std::pair("--width", width), std::pair("--depth", depth)}) {
    SLUICE_RETURN_IF_ERROR(check_above_zero(name, value));
  }
  if (batch && *batch < 1) {
    return Error{ErrorCode::kBadInput, fmt::format("batch must be from 1, got {}", *batch)};
  }
  if (dropout && !(*dropout >= 0 && *dropout < 1)) {
    return Error{ErrorCode::kBadInput, fmt::format("--dropout must be from 0 to below 1, got {}", *dropout)};
  }
  return models::ModelOptions{batch.value_or(0), image_size.value_or(0), classes.value_or(0),    sequence.value_or(0),
                              width.value_or(0), depth.value_or(0),      dropout.value_or(-1.0F)};
}

Result<graph::OptimizerOptions> WorkloadArguments::optimizer_options() const {
  graph::OptimizerOptions options = update;
  SLUICE_ASSIGN(options.optimizer, graph::parse_optimizer(optimizer));
  options.rematerialize = keep_norm_outputs ? graph::Rematerialize::kNothing : graph::Rematerialize::kCheap;
  for (const graph::Hyperparameter& each : graph::optimizer_row(options.optimizer).hyperparameters) {
    options.*each.value = hyperparameters.at(std::string(each.name)).value_or(each.usual);
  }
  SLUICE_RETURN_IF_ERROR(graph::check_hyperparameters(options));
  if (!(options.clip_norm >= 0 && options.clip_norm < std::numeric_limits<float>::infinity())) {
    return Error{ErrorCode::kBadInput, fmt::format("--clip-norm must be from 0, got {}", options.clip_norm)};
  }
  if (options.accumulate < 1 || options.accumulate > graph::kMostBatches) {
    return bad_input(fmt::format("--accumulate must be from 1 to {}, got {}", graph::kMostBatches, options.accumulate));
  }
  if (options.ranks < 1 || options.ranks > graph::kMostRanks) {
    return bad_input(fmt::format("--ranks must be from 1 to {}, got {}", graph::kMostRanks, options.ranks));
  }
  if (!graph::is_loss_scale(options.loss_scale)) {
    return bad_input(fmt::format("--loss-scale must be a power of two from {} to {}, got {}", graph::kLeastLossScale,
                                 graph::kMostLossScale, options.loss_scale));
  }
  return options;
}

Result<train::WorkloadOptions> WorkloadArguments::options(int threads) const {
  if (model.empty() == onnx.empty()) {
    return Error{ErrorCode::kBadInput, "name either a built-in model (sluice models lists them) or --onnx FILE"};
  }
  train::WorkloadOptions options;
  options.model = model;
  options.onnx = onnx;
  SLUICE_ASSIGN(options.onnx_loss, train::parse_onnx_loss(loss));
  SLUICE_ASSIGN(options.shape, shape());
  SLUICE_ASSIGN(options.optimizer, optimizer_options());
  SLUICE_ASSIGN(options.precision, train::parse_precision(precision));
  if (options.precision != graph::Precision::kF16Masters && update.loss_scale != graph::OptimizerOptions{}.loss_scale) {
    return bad_input(fmt::format("--loss-scale goes with --precision fp16-masters alone, not with {}", precision));
  }
  if (finer_slices < 1 || finer_slices > graph::kFinestSlices) {
    return bad_input(fmt::format("--finer-slices must be from 1 to {}, got {}", graph::kFinestSlices, finer_slices));
  }
  options.finer_slices = finer_slices;
  options.threads = threads;
  return options;
}

}  // namespace sluice::cli
