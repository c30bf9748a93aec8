#include "sluice/graph/optimizers/optimizer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::graph {

#define SLUICE_OPTIMIZER_ROW(name, row) OptimizerRow row##_optimizer();
SLUICE_OPTIMIZERS(SLUICE_OPTIMIZER_ROW)
#undef SLUICE_OPTIMIZER_ROW

namespace {

// "0.02 for sgd, 0.001 for adam and adamw": optimizers of one value together, in the table's order.
std::string by_value(const std::vector<std::pair<double, std::string_view>>& values) {
  std::vector<std::pair<double, std::vector<std::string_view>>> groups;
  for (const auto& [value, name] : values) {
    if (groups.empty() || groups.back().first != value) groups.push_back({value, {}});
    groups.back().second.push_back(name);
  }
  std::vector<std::string> texts;
  for (auto& [value, names] : groups) {
    const std::string_view last = names.back();
    names.pop_back();
    texts.push_back(fmt::format("{} for {}{}{}", value, fmt::join(names, ", "), names.empty() ? "" : " and ", last));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string with(std::string_view name, char instead_of_space) {
  std::string text(name);
  std::ranges::replace(text, ' ', instead_of_space);
  return text;
}

bool is_allowed(const Hyperparameter& each, double value) {
  return (each.above_least ? value > each.least : value >= each.least) && value < each.below;
}

std::string range_of(const Hyperparameter& each) {
  const bool bounded = each.below != std::numeric_limits<double>::infinity();
  return fmt::format("{} {}{}", each.above_least ? "above" : "from", each.least,
                     bounded ? fmt::format(" to below {}", each.below) : "");
}

}  // namespace

const OptimizerRow& optimizer_row(Optimizer optimizer) {
  switch (optimizer) {
#define SLUICE_OPTIMIZER_ROW(name, row)                  \
  case Optimizer::name: {                                \
    static const OptimizerRow known = row##_optimizer(); \
    return known;                                        \
  }
    SLUICE_OPTIMIZERS(SLUICE_OPTIMIZER_ROW)
#undef SLUICE_OPTIMIZER_ROW
  }
  SLUICE_CHECK(false, "every optimizer has a row");
}

std::span<const Optimizer> all_optimizers() {
#define SLUICE_OPTIMIZER_NAME(name, row) Optimizer::name,
  static constexpr std::array kAll{SLUICE_OPTIMIZERS(SLUICE_OPTIMIZER_NAME)};
#undef SLUICE_OPTIMIZER_NAME
  return kAll;
}

std::string_view to_string(Optimizer optimizer) { return optimizer_row(optimizer).name; }

Result<Optimizer> parse_optimizer(std::string_view text) {
  std::vector<std::string_view> names;
  for (const Optimizer each : all_optimizers()) {
    if (to_string(each) == text) return each;
    names.push_back(to_string(each));
  }
  const std::string_view last = names.back();
  names.pop_back();
  return Error{ErrorCode::kBadInput,
               fmt::format("unknown optimizer '{}'; write {} or {}", text, fmt::join(names, ", "), last)};
}

std::string option_of(const Hyperparameter& hyperparameter) { return "--" + with(hyperparameter.name, '-'); }
std::string field_of(const Hyperparameter& hyperparameter) { return with(hyperparameter.name, '_'); }

void use_usual_hyperparameters(OptimizerOptions& options) {
  for (const Hyperparameter& each : optimizer_row(options.optimizer).hyperparameters) options.*each.value = each.usual;
}

Status check_hyperparameters(const OptimizerOptions& options) {
  const OptimizerRow& row = optimizer_row(options.optimizer);
  for (const Hyperparameter& each : row.hyperparameters) {
    const double value = options.*each.value;
    if (is_allowed(each, value)) continue;
    return Error{ErrorCode::kBadInput,
                 fmt::format("{} takes {} {}, got {}", row.name, option_of(each), range_of(each), value)};
  }
  return {};
}

std::string describe_hyperparameters(const OptimizerOptions& options) {
  std::vector<std::string> texts;
  for (const Hyperparameter& each : optimizer_row(options.optimizer).hyperparameters)
    texts.push_back(fmt::format("{} {}", each.name, options.*each.value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string usual_rates() {
  std::vector<std::pair<double, std::string_view>> rates;
  for (const Optimizer each : all_optimizers()) rates.emplace_back(optimizer_row(each).rate, to_string(each));
  return by_value(rates);
}

std::string usual_values(std::string_view hyperparameter) {
  std::vector<std::pair<double, std::string_view>> values;
  for (const Optimizer optimizer : all_optimizers()) {
    for (const Hyperparameter& each : optimizer_row(optimizer).hyperparameters)
      if (each.name == hyperparameter) values.emplace_back(each.usual, to_string(optimizer));
  }
  return by_value(values);
}

std::string optimizer_document() {
  std::string text = "| `--optimizer` | update of *w* by its gradient *g* | `--lr` | options |\n|---|---|---|---|\n";
  for (const Optimizer optimizer : all_optimizers()) {
    const OptimizerRow& row = optimizer_row(optimizer);
    std::vector<std::string> options;
    for (const Hyperparameter& each : row.hyperparameters)
      options.push_back(fmt::format("`{}` {}", option_of(each), each.usual));
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.name, row.update, row.rate, fmt::join(options, ", "));
  }
  return text;
}

}  // namespace sluice::graph
