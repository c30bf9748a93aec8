#include "sluice/policies/run_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <utility>

#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/plan_file.hpp"
#include "sluice/policies/dtr/dtr.hpp"

namespace sluice::policies {
namespace {

using nlohmann::json;

json policy_json(std::string_view name, json settings, Bytes fast_bytes) {
  return {{"name", name}, {"settings", std::move(settings)}, {"fast_bytes", fast_bytes}};
}

void add_policy(json& /*document*/, const plan::Plan& /*run*/) {}

void add_policy(json& document, const DtrRun& run) {
  document["policy"] = policy_json(kDtrName, json::array(), run.policy.fast_bytes);
}

void add_policy(json& document, const PagesRun& run) {
  const std::any chosen = run.policy.tuning;
  const std::any defaults = run.policy.entry->pages->defaults;
  json settings = json::array();
  for (const Setting& each : policy_settings().rows) {
    if (each.get(chosen) == each.get(defaults)) continue;
    settings.push_back({{"name", each.name}, {"value", each.get(chosen)}});
  }
  document["policy"] = policy_json(run.policy.entry->name, std::move(settings), run.policy.fast_bytes);
}

Status read_setting(const JsonReader& object, std::any& tuning) {
  std::string name;
  double value = 0;
  SLUICE_RETURN_IF_ERROR(object.read("name", name));
  SLUICE_RETURN_IF_ERROR(object.read("value", value));
  const Setting* setting = policy_settings().find(name);
  if (setting == nullptr) {
    return object.error("name", fmt::format("no setting '{}'; there are {}", name, policy_settings().names()));
  }
  const Status fits = setting->check(value);
  if (!fits.ok()) return object.error("value", fits.error().message);
  setting->set(tuning, value);
  return {};
}

Result<ChosenPolicy> read_policy(const JsonReader& object) {
  std::string name;
  Bytes fast_bytes = 0;
  SLUICE_RETURN_IF_ERROR(object.read("name", name));
  SLUICE_ASSIGN(const std::vector<JsonReader> settings, object.list("settings"));
  SLUICE_RETURN_IF_ERROR(object.read("fast_bytes", fast_bytes));
  if (fast_bytes <= 0) return object.error("fast_bytes", "a policy needs some fast memory");
  const PolicyEntry* entry = find_policy(name);
  if (entry == nullptr) return object.error("name", unknown_policy(name).message);
  if (!entry->pages) {
    if (!settings.empty()) return object.error("settings", fmt::format("{} has none", name));
    return ChosenPolicy(ChosenDtr{fast_bytes});
  }
  std::any tuning = entry->pages->defaults;
  for (const JsonReader& each : settings) SLUICE_RETURN_IF_ERROR(read_setting(each, tuning));
  return ChosenPolicy(ChosenPages{entry, std::any_cast<PolicyTuning>(tuning), fast_bytes});
}

// As a policy decides over: nothing decided before.
Status check_nothing_planned(const JsonReader& document, const plan::Plan& plan) {
  const plan::ChoiceCounts choices = plan::count_choices(plan);
  const auto slow = [](const plan::Residency& each) { return each.tier != memory::kFastTier; };
  const bool planned = !plan.schedule.empty() || !plan.stitches.empty() || !plan.migrations.empty() ||
                       choices.other_kernels + choices.other_processors > 0 ||
                       std::ranges::any_of(plan.residencies, slow);
  if (!planned) return {};
  return document.error("policy",
                        "a step under a policy has everything in fast memory in the graph's own order, and "
                        "this file plans something: plan again");
}

}  // namespace

json run_to_json(const graph::Graph& graph, const Run& run) {
  json document = plan::plan_to_json(graph, plan_of(run));
  std::visit([&](const auto& each) { add_policy(document, each); }, run);
  return document;
}

Result<Run> run_from_json(const json& document) {
  const JsonReader reader(document);
  if (!reader.has("policy")) {
    SLUICE_ASSIGN(plan::Plan plan, plan::plan_from_json(document));
    return Run(std::move(plan));
  }
  json without = document;
  without.erase("policy");
  SLUICE_ASSIGN(plan::Plan plan, plan::plan_from_json(without));
  SLUICE_ASSIGN(const JsonReader object, reader.object("policy"));
  SLUICE_ASSIGN(ChosenPolicy policy, read_policy(object));
  SLUICE_RETURN_IF_ERROR(check_nothing_planned(reader, plan));
  return run_under(std::move(policy), std::move(plan));
}

Status write_run(const std::filesystem::path& path, const graph::Graph& graph, const Run& run) {
  return plan::write_plan_document(path, run_to_json(graph, run));
}

Result<Run> read_run(const std::filesystem::path& path) {
  SLUICE_ASSIGN(const json document, read_json_file(path));
  Result<Run> run = run_from_json(document);
  if (run.ok()) return run;
  return Error{run.error().code, fmt::format("plan file '{}': {}", path.string(), run.error().message)};
}

}  // namespace sluice::policies
