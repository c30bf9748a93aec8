#include "sluice/models/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "sluice/graph/slice_batch.hpp"
#include "sluice/graph/slice_dense.hpp"
#include "sluice/models/networks.hpp"

namespace sluice {
namespace {

struct Recipe {
  ModelEntry entry;
  std::int64_t smallest_image = 1;
  std::int64_t image_multiple = 1;
  std::function<Result<Graph>(const std::string&, const ModelOptions&)> build;
};

Recipe cifar_recipe(const std::string& name, int blocks, bool shortcuts) {
  const std::string summary =
      shortcuts ? fmt::format("CIFAR ResNet v1, 3 x {} basic blocks, 1x1 projection shortcuts (He 2015)", blocks)
                : fmt::format("CIFAR plain network: 3 x {} basic blocks without shortcuts (He 2015)", blocks);
  return {{name, summary, 128, 32, 10}, 8, 1, [=](const std::string& model, const ModelOptions& options) {
            return build_cifar_resnet(model, options, blocks, shortcuts);
          }};
}

Recipe resnet_recipe(const std::string& name, const ImageNetResnet& net) {
  const std::string summary =
      fmt::format("ImageNet ResNet {}, {} {}, stride in the 3x3", net.preactivation ? "v2 (He 2016)" : "v1 (He 2015)",
                  net.bottleneck ? "bottlenecks" : "basic blocks", fmt::join(net.blocks, ","));
  return {{name, summary, 32, 224, 1000}, 32, 1, [=](const std::string& model, const ModelOptions& options) {
            return build_imagenet_resnet(model, options, net);
          }};
}

Recipe vgg_recipe(const std::string& name, const std::string& configuration, const std::vector<int>& convolutions) {
  const std::string summary =
      fmt::format("VGG configuration {} (Simonyan 2014), biases, no batch norm, no dropout", configuration);
  return {{name, summary, 32, 224, 1000}, 32, 32, [=](const std::string& model, const ModelOptions& options) {
            return build_vgg(model, options, convolutions);
          }};
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      cifar_recipe("resnet20", 3, true),
      cifar_recipe("resnet32", 5, true),
      cifar_recipe("resnet44", 7, true),
      cifar_recipe("resnet56", 9, true),
      cifar_recipe("resnet110", 18, true),
      cifar_recipe("plain20", 3, false),
      resnet_recipe("resnet18", {.blocks = {2, 2, 2, 2}, .bottleneck = false}),
      resnet_recipe("resnet34", {.blocks = {3, 4, 6, 3}, .bottleneck = false}),
      resnet_recipe("resnet50", {.blocks = {3, 4, 6, 3}}),
      resnet_recipe("resnet101", {.blocks = {3, 4, 23, 3}}),
      resnet_recipe("resnet152", {.blocks = {3, 8, 36, 3}}),
      resnet_recipe("resnet200", {.blocks = {3, 24, 36, 3}}),
      resnet_recipe("resnet50_v2", {.blocks = {3, 4, 6, 3}, .preactivation = true}),
      resnet_recipe("resnet101_v2", {.blocks = {3, 4, 23, 3}, .preactivation = true}),
      resnet_recipe("resnet152_v2", {.blocks = {3, 8, 36, 3}, .preactivation = true}),
      resnet_recipe("resnet200_v2", {.blocks = {3, 24, 36, 3}, .preactivation = true}),
      vgg_recipe("vgg11", "A", {1, 1, 2, 2, 2}),
      vgg_recipe("vgg16", "D", {2, 2, 3, 3, 3}),
      vgg_recipe("vgg19", "E", {2, 2, 4, 4, 4}),
  };
  return all;
}

// Levenshtein's distance: the fewest insertions, deletions and replacements of one character.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

Error unknown_model(std::string_view name) {
  const ModelEntry* closest = nullptr;
  std::string known;
  for (const ModelEntry& entry : models()) {
    known += (known.empty() ? "" : ", ") + entry.name;
    if (!closest || edit_distance(name, entry.name) < edit_distance(name, closest->name)) closest = &entry;
  }
  return {ErrorCode::kBadInput,
          fmt::format("unknown model '{}'; did you mean '{}'? Known models: {}", name, closest->name, known)};
}

Status check_range(std::string_view model, std::string_view what, std::int64_t value, Interval<std::int64_t> range) {
  if (range.contains(value)) return {};
  return Error{ErrorCode::kBadInput,
               fmt::format("{}: {} must be from {} to {}, got {}", model, what, range.begin, range.end - 1, value)};
}

// The upper ends only keep element counts within 64 bits.
Status check_options(const Recipe& recipe, const ModelOptions& options) {
  const std::string& name = recipe.entry.name;
  SLUICE_RETURN_IF_ERROR(check_range(name, "batch", options.batch, {1, (1 << 20) + 1}));
  SLUICE_RETURN_IF_ERROR(check_range(name, "classes", options.classes, {1, (1 << 24) + 1}));
  SLUICE_RETURN_IF_ERROR(check_range(name, "image size", options.image_size, {recipe.smallest_image, (1 << 13) + 1}));
  if (options.image_size % recipe.image_multiple == 0) return {};
  return Error{ErrorCode::kBadInput, fmt::format("{}: image size must be a multiple of {}, got {}", name,
                                                 recipe.image_multiple, options.image_size)};
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

Result<Graph> build_model(std::string_view name, const ModelOptions& options) {
  const auto recipe = std::find_if(recipes().begin(), recipes().end(),
                                   [&](const Recipe& candidate) { return candidate.entry.name == name; });
  if (recipe == recipes().end()) return unknown_model(name);
  ModelOptions complete = options;
  if (complete.image_size == 0) complete.image_size = recipe->entry.default_image_size;
  if (complete.classes == 0) complete.classes = recipe->entry.default_classes;
  SLUICE_RETURN_IF_ERROR(check_options(*recipe, complete));
  return recipe->build(recipe->entry.name, complete);
}

Result<Graph> build_training_model(std::string_view name, const ModelOptions& options, const OptimizerOptions& sgd) {
  SLUICE_ASSIGN(const Graph forward, build_model(name, options));
  const Graph training = slice_dense(build_training_graph(forward, sgd));
  return slice_batch(training, batch_slice_limit(training));
}

}  // namespace sluice
