#include "sluice/models/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sluice/base/text/closest_name.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/models/catalog.hpp"

namespace sluice::models {
namespace {

Error unknown_model(std::string_view name) {
  std::vector<std::string_view> known;
  for (const ModelEntry& entry : models()) known.push_back(entry.name);
  return bad_input(
      fmt::format("unknown model '{}'{}models: {}", name, suggest_name(name, known), fmt::join(known, ", ")));
}

struct Option {
  std::string_view name;
  std::int64_t ModelOptions::*value;
  std::int64_t smallest;
  std::int64_t largest;
  std::int64_t multiple;
};

// The upper ends only keep element counts within 64 bits.
std::vector<Option> options_of(const OptionLimits& limits) {
  return {
      {"image size", &ModelOptions::image_size, limits.smallest_image, 1 << 13, limits.image_multiple},
      {"classes", &ModelOptions::classes, 1, 1 << 24, 1},
      {"sequence", &ModelOptions::sequence, 1, limits.longest_sequence, 1},
      {"width", &ModelOptions::width, limits.width_multiple, 1 << 16, limits.width_multiple},
      {"depth", &ModelOptions::depth, 1, 1 << 12, 1},
  };
}

// "batch, image size, classes"
std::string option_names(const Recipe& recipe) {
  std::string names = "batch";
  for (const Option& option : options_of(recipe.limits)) {
    if (recipe.entry.defaults.*option.value != 0) names += fmt::format(", {}", option.name);
  }
  return recipe.entry.defaults.dropout >= 0 ? names + ", dropout" : names;
}

Error without_option(const Recipe& recipe, std::string_view option) {
  return {ErrorCode::kBadInput, fmt::format("{} has no option '{}'; leave it out. It has: {}", recipe.entry.name,
                                            option, option_names(recipe))};
}

Status check_range(std::string_view model, const Option& option, std::int64_t value) {
  if (value < option.smallest || value > option.largest) {
    return Error{ErrorCode::kBadInput, fmt::format("{}: {} must be from {} to {}, got {}", model, option.name,
                                                   option.smallest, option.largest, value)};
  }
  if (value % option.multiple == 0) return {};
  return Error{ErrorCode::kBadInput,
               fmt::format("{}: {} must be a multiple of {}, got {}", model, option.name, option.multiple, value)};
}

Status complete_dropout(const Recipe& recipe, float& dropout) {
  const float usual = recipe.entry.defaults.dropout;
  if (dropout >= 0 && usual < 0) return without_option(recipe, "dropout");
  if (dropout < 0) dropout = std::max(usual, 0.0F);
  if (dropout < 1) return {};
  return Error{ErrorCode::kBadInput,
               fmt::format("{}: dropout must be at least 0 and below 1, got {}", recipe.entry.name, dropout)};
}

Result<ModelOptions> complete_options(const Recipe& recipe, ModelOptions options) {
  const std::string& name = recipe.entry.name;
  SLUICE_RETURN_IF_ERROR(check_range(name, {"batch", nullptr, 1, 1 << 20, 1}, options.batch));
  for (const Option& option : options_of(recipe.limits)) {
    std::int64_t& value = options.*option.value;
    const std::int64_t usual = recipe.entry.defaults.*option.value;
    if (value != 0 && usual == 0) return without_option(recipe, option.name);
    if (usual == 0) continue;
    if (value == 0) value = usual;
    SLUICE_RETURN_IF_ERROR(check_range(name, option, value));
  }
  SLUICE_RETURN_IF_ERROR(complete_dropout(recipe, options.dropout));
  return options;
}

}  // namespace

const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> entries = [] {
    std::vector<ModelEntry> all;
    for (const Recipe& recipe : recipes()) all.push_back(recipe.entry);
    return all;
  }();
  return entries;
}

Result<graph::Graph> build_model(std::string_view name, const ModelOptions& options) {
  const auto recipe = std::find_if(recipes().begin(), recipes().end(),
                                   [&](const Recipe& candidate) { return candidate.entry.name == name; });
  if (recipe == recipes().end()) return unknown_model(name);
  SLUICE_ASSIGN(const ModelOptions complete, complete_options(*recipe, options));
  return recipe->build(recipe->entry.name, complete);
}

Result<graph::Graph> build_training_model(std::string_view name, const ModelOptions& options,
                                          const graph::OptimizerOptions& optimizer) {
  SLUICE_ASSIGN(const graph::Graph forward, build_model(name, options));
  return graph::prepare_training_graph(forward, optimizer);
}

}  // namespace sluice::models
