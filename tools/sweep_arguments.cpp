#include "tools/sweep_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/parse.hpp"
#include "tools/budget_arguments.hpp"
#include "tools/chart_output.hpp"

namespace sluice::cli {
namespace {

constexpr std::string_view kOnnx = ".onnx";

// The first entry that is there twice.
template <typename T>
std::optional<std::size_t> find_duplicate(const std::vector<T>& list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (std::find(list.begin(), iterator_at(list, i), list[i]) != iterator_at(list, i)) {
      return i;
    }
  }
  return std::nullopt;
}

Error listed_twice(std::string_view option, std::string_view entry) {
  return {ErrorCode::kBadInput, fmt::format("{} lists '{}' twice; name each once", option, entry)};
}

Status check_planners(const std::vector<std::string>& planners) {
  if (const auto twice = find_duplicate(planners)) return listed_twice("--planners", planners[*twice]);
  SLUICE_RETURN_IF_ERROR(check_planner_names(planners));
  if (std::ranges::find(planners, planners::kBaselinePlanner) == planners.end()) return {};
  return Error{ErrorCode::kBadInput,
               fmt::format("{} needs all the memory and is what the others are compared with: leave it out of "
                           "--planners",
                           planners::kBaselinePlanner)};
}

Result<MemorySize> parse_budget(const std::string& text) {
  SLUICE_ASSIGN(const MemorySize size, parse_memory_size(text));
  const double* share = std::get_if<double>(&size.value);
  if (share == nullptr || *share <= 1) return size;
  return Error{ErrorCode::kBadInput,
               fmt::format("--fast {}: more than everything makes no difference; take at most 100%", text)};
}

Result<std::vector<MemorySize>> parse_budgets(std::vector<std::string> texts) {
  if (texts.empty()) texts = {"5%", "10%", "15%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%", "100%"};
  std::vector<MemorySize> budgets;
  for (const std::string& text : texts) {
    SLUICE_ASSIGN(const MemorySize budget, parse_budget(text));
    budgets.push_back(budget);
  }
  return budgets;
}

// "resnet20", "resnet20:128", "model.onnx" or "model.onnx:128".
Result<WorkloadArguments> parse_model(const std::string& text, WorkloadArguments workload) {
  const std::size_t colon = text.ends_with(kOnnx) ? std::string::npos : text.rfind(':');
  const std::string name = text.substr(0, colon);
  (name.ends_with(kOnnx) ? workload.onnx : workload.model) = name;
  if (colon == std::string::npos) return workload;
  const Result<std::int64_t> batch = parse_integer(std::string_view(text).substr(colon + 1), 1);
  if (!batch.ok()) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("'{}': behind the colon stands the batch, from 1, such as {}:16", text, name)};
  }
  workload.batch = *batch;
  return workload;
}

}  // namespace

Result<SweepRequest> SweepArguments::request() const {
  SweepRequest request;
  SLUICE_RETURN_IF_ERROR(check_planners(planners));
  request.planners = planners;
  if (const auto twice = find_duplicate(fast)) return listed_twice("--fast", fast[*twice]);
  SLUICE_ASSIGN(request.budgets, parse_budgets(fast));
  if (!no_loss.empty()) {
    if (!fast.empty()) return Error{ErrorCode::kBadInput, "--no-loss looks for the budget itself: leave out --fast"};
    SLUICE_ASSIGN(request.no_loss, parse_percentage("--no-loss " + no_loss, no_loss));
  }
  if (!price.empty()) {
    if (!no_loss.empty())
      return Error{ErrorCode::kBadInput, "--no-loss has one budget, --price compares several: leave out one"};
    SLUICE_ASSIGN(request.prices, experiment::parse_memory_prices(price));
    SLUICE_ASSIGN(request.within, parse_percentage("--within " + within, within));
  }
  request.comparison.steps = steps;
  if (run) SLUICE_RETURN_IF_ERROR(experiment::check_rounds(request.comparison));
  SLUICE_ASSIGN(request.comparison.learning_rate, base_learning_rate(learning_rate, workload.optimizer));
  if (const auto twice = find_duplicate(models)) return listed_twice("the command", models[*twice]);
  SLUICE_ASSIGN(const int threads, machine.thread_count());
  for (const std::string& model : models) {
    SLUICE_ASSIGN(const WorkloadArguments each, parse_model(model, workload));
    SLUICE_ASSIGN(const train::WorkloadOptions options, each.options(threads));
    SLUICE_RETURN_IF_ERROR(train::build_forward(options));
    request.workloads.push_back(each);
  }
  return request;
}

void SweepArguments::add_to(CLI::App& command) {
  command
      .add_option("models", models, "Built-in models (sluice models lists them) or ONNX files, each NAME or NAME:BATCH")
      ->type_name("MODEL")
      ->required();
  workload.add_settings_to(command);
  machine.add_to(command);
  command
      .add_option("--planners", planners,
                  "Which planners or policies, separated by commas (fast-only is always compared with)")
      ->type_name("PLANNER")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--fast", fast,
                  "Budgets of the fast tier, separated by commas: 20%,40% of what everything takes, or 512MiB "
                  "(default: from 5% to 100%)")
      ->type_name("SIZE")
      ->delimiter(',');
  command
      .add_option("--no-loss", no_loss,
                  "Instead: the smallest budget whose predicted step is at most this much longer than fast-only's "
                  "(1% when nothing follows)")
      ->type_name("SHARE")
      ->expected(0, 1)
      ->default_str("1%");
  CLI::Option* const priced =
      command
          .add_option("--price", price,
                      "Also what a GB of fast and of slow memory costs, fast=16.61,slow=7.85: shows what each budget "
                      "costs and brings, and the cheapest that is fast enough")
          ->type_name("PRICES");
  command.add_option("--within", within, "With --price: how much slower than fast-only is fast enough")
      ->type_name("SHARE")
      ->capture_default_str()
      ->needs(priced);
  command.add_flag("--run", run, "Also run every point beside fast-only, step by step in turn, and show the error");
  command.add_option("--steps", steps, "With --run: steps a point; the first two are warm-up")->capture_default_str();
  add_learning_rate_option(command, learning_rate);
  add_json_option(command, json);
  add_html_option(command, html,
                  "Also write a page with charts: step time over memory, where operands lie and what is moved; with "
                  "--price performance per price",
                  {"--svg", "--svg-traffic"});
}

}  // namespace sluice::cli
