#include "sluice/plan/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/atomic_file.hpp"
#include "sluice/base/format_version.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/plan/plan_graph.hpp"

namespace sluice::plan {
namespace {

using nlohmann::json;

constexpr const char* kFormatName = "sluice-plan";

// The order in which the keys are written; lists one entry a line, so that two plans can be compared line by line.
constexpr const char* kKeys[] = {"format",
                                 "version",
                                 "graph",
                                 "machine",
                                 "planner",
                                 "planner_config",
                                 "policy",
                                 "raised_from",
                                 "solver_status",
                                 "predicted_step_seconds",
                                 "lower_bound_seconds",
                                 "any_order_prices",
                                 "order_bound_seconds",
                                 "prices",
                                 "budgets",
                                 "arena_bytes",
                                 "stitches",
                                 "schedule",
                                 "ops",
                                 "residencies",
                                 "blocks",
                                 "migrations"};

json ops_to_json(const graph::Graph& graph, const Plan& plan) {
  json list = json::array();
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    list.push_back({{"name", graph.op(as_id<graph::OpIndex>(i)).name},
                    {"implementation", plan.ops[i].implementation},
                    {"operand_tiers", plan.ops[i].operand_tiers}});
    if (plan.ops[i].processor != kMainProcessor) list.back()["processor"] = plan.ops[i].processor;
  }
  return list;
}

json residencies_to_json(const graph::Graph& graph, const Plan& plan) {
  json list = json::array();
  for (const Residency& r : plan.residencies) {
    list.push_back({{"name", graph.tensor(r.tensor).name},
                    {"tensor", r.tensor},
                    {"tier", r.tier},
                    {"offset", r.offset},
                    {"ops", {r.ops.begin, r.ops.end}}});
    if (r.encoded()) list.back()["encoding"] = to_string(r.encoding);
  }
  return list;
}

json stitches_to_json(const Plan& plan) {
  json list = json::array();
  for (const memory::Stitch& stitch : plan.stitches) {
    json memory = json::array();
    for (const Interval<Bytes>& piece : stitch.memory) memory.push_back({piece.begin, piece.end});
    list.push_back({{"address", stitch.address}, {"memory", std::move(memory)}});
  }
  return list;
}

json blocks_to_json(const Plan& plan) {
  json list = json::array();
  for (const Block& block : plan.blocks) list.push_back({{"members", block.members}});
  return list;
}

json migrations_to_json(const graph::Graph& graph, const Plan& plan) {
  json list = json::array();
  for (const Migration& m : plan.migrations) {
    list.push_back({{"name", graph.tensor(m.tensor).name},
                    {"tensor", m.tensor},
                    {"from", m.from},
                    {"to", m.to},
                    {"issue_after", m.issue_after},
                    {"needed_by", m.needed_by}});
    if (const CauseText* cause = text_of(m.cause)) list.back()["cause"] = cause->name;
  }
  return list;
}

Result<OpPlacement> read_op(const JsonReader& object) {
  OpPlacement placement;
  SLUICE_RETURN_IF_ERROR(object.read("implementation", placement.implementation));
  SLUICE_RETURN_IF_ERROR(object.read_if_present("processor", placement.processor));
  SLUICE_RETURN_IF_ERROR(object.read("operand_tiers", placement.operand_tiers));
  return placement;
}

Result<memory::Encoding> read_encoding(const JsonReader& object) {
  if (!object.has("encoding")) return memory::Encoding::kNone;
  std::string name;
  SLUICE_RETURN_IF_ERROR(object.read("encoding", name));
  if (const std::optional<memory::Encoding> encoding = memory::parse_encoding(name)) return *encoding;
  return object.error("encoding",
                      fmt::format("no encoding '{}'; there is {}", name, to_string(memory::Encoding::kZeroValue)));
}

Result<Residency> read_residency(const JsonReader& object) {
  Residency residency;
  std::vector<graph::OpIndex> ops;
  SLUICE_RETURN_IF_ERROR(object.read("tensor", residency.tensor));
  SLUICE_RETURN_IF_ERROR(object.read("tier", residency.tier));
  SLUICE_RETURN_IF_ERROR(object.read("offset", residency.offset));
  SLUICE_RETURN_IF_ERROR(object.read("ops", ops));
  if (ops.size() != 2) return object.error("ops", "expected [first op, one past last op]");
  residency.ops = {ops[0], ops[1]};
  SLUICE_ASSIGN(residency.encoding, read_encoding(object));
  return residency;
}

Result<memory::Stitch> read_stitch(const JsonReader& object) {
  memory::Stitch stitch;
  std::vector<std::vector<Bytes>> memory;
  SLUICE_RETURN_IF_ERROR(object.read("address", stitch.address));
  SLUICE_RETURN_IF_ERROR(object.read("memory", memory));
  for (const std::vector<Bytes>& piece : memory) {
    if (piece.size() != 2) return object.error("memory", "expected [first byte, one past last byte] of each piece");
    stitch.memory.push_back({piece[0], piece[1]});
  }
  return stitch;
}

Result<Block> read_block(const JsonReader& object) {
  Block block;
  SLUICE_RETURN_IF_ERROR(object.read("members", block.members));
  return block;
}

Result<Migration> read_migration(const JsonReader& object) {
  Migration migration;
  SLUICE_RETURN_IF_ERROR(object.read("tensor", migration.tensor));
  SLUICE_RETURN_IF_ERROR(object.read("from", migration.from));
  SLUICE_RETURN_IF_ERROR(object.read("to", migration.to));
  SLUICE_RETURN_IF_ERROR(object.read("issue_after", migration.issue_after));
  SLUICE_RETURN_IF_ERROR(object.read("needed_by", migration.needed_by));
  std::string name;
  SLUICE_RETURN_IF_ERROR(object.read_if_present("cause", name));
  if (name.empty()) return migration;
  const std::optional<Cause> cause = find_cause(name);
  if (!cause) return object.error("cause", fmt::format("there is no cause '{}'", name));
  migration.cause = *cause;
  return migration;
}

template <typename T>
Status read_entries(const JsonReader& document, const char* key, Result<T> (*read_entry)(const JsonReader&),
                    std::vector<T>& entries) {
  SLUICE_ASSIGN(const std::vector<JsonReader> objects, document.list(key));
  for (const JsonReader& object : objects) {
    SLUICE_ASSIGN(T entry, read_entry(object));
    entries.push_back(std::move(entry));
  }
  return {};
}

// Readers before version 4 know no schedules and would run such a plan in the graph's order.
Status read_schedule(const json& document, const JsonReader& reader, int version, Plan& plan) {
  if (!document.contains("schedule")) return {};
  if (version < 4) return reader.error("schedule", fmt::format("version {} has no schedules: plan again", version));
  return reader.read("schedule", plan.schedule);
}

// Readers before version 5 know no encodings and would take encoded bytes for the tensor's.
Status check_no_early_encoding(const JsonReader& document, int version, const Plan& plan) {
  if (version >= 5 || std::ranges::none_of(plan.residencies, &Residency::encoded)) return {};
  return document.error("residencies", fmt::format("version {} has no encodings: plan again", version));
}

// Readers before version 6 know one processor and would run every op there.
Status check_no_early_processor(const JsonReader& document, int version, const Plan& plan) {
  const bool several =
      std::ranges::any_of(plan.ops, [](const OpPlacement& op) { return op.processor != kMainProcessor; });
  if (version >= 6 || !several) return {};
  return document.error("ops", fmt::format("version {} has no processors: plan again", version));
}

// Readers before version 7 know no stitches and would take such addresses for memory that the arena does not have.
Status read_stitches(const json& document, const JsonReader& reader, int version, Plan& plan) {
  if (!document.contains("stitches")) return {};
  if (version < 7) return reader.error("stitches", fmt::format("version {} has no stitches: plan again", version));
  return read_entries(reader, "stitches", read_stitch, plan.stitches);
}

// Prices of slots, the two of each one after the other.
std::vector<double> in_a_row(const std::vector<SlotPrice>& prices) {
  std::vector<double> row;
  for (const SlotPrice& price : prices) row.insert(row.end(), price.begin(), price.end());
  return row;
}

json prices_to_json(const StepPrices& prices) {
  json object{{"room", prices.room}, {"run", in_a_row(prices.run)}, {"stall", in_a_row(prices.stall)}};
  if (!prices.reading.empty()) object["reading"] = prices.reading;
  return object;
}

Status read_slot_prices(const JsonReader& object, const char* key, std::vector<SlotPrice>& prices) {
  std::vector<double> row;
  SLUICE_RETURN_IF_ERROR(object.read(key, row));
  if (row.size() % 2 != 0) return object.error(key, "a slot has two prices");
  for (std::size_t i = 0; i < row.size(); i += 2) prices.push_back({row[i], row[i + 1]});
  return {};
}

Result<StepPrices> read_prices(const JsonReader& object) {
  StepPrices prices;
  SLUICE_RETURN_IF_ERROR(object.read("room", prices.room));
  SLUICE_RETURN_IF_ERROR(read_slot_prices(object, "run", prices.run));
  SLUICE_RETURN_IF_ERROR(read_slot_prices(object, "stall", prices.stall));
  SLUICE_RETURN_IF_ERROR(object.read_if_present("reading", prices.reading));
  return prices;
}

// Keys that most plans do not have.
Status read_options(const json& document, const JsonReader& reader, Plan& plan) {
  if (document.contains("policy")) {
    return reader.error("policy",
                        "a run under a policy, which decides during the step and has no plan: see what it does "
                        "with sluice simulate or train");
  }
  for (const auto& [key, prices] :
       {std::pair("prices", &plan.prices), std::pair("any_order_prices", &plan.any_order_prices)}) {
    if (!document.contains(key)) continue;
    SLUICE_ASSIGN(const JsonReader object, reader.object(key));
    SLUICE_ASSIGN(*prices, read_prices(object));
  }
  if (!document.contains("raised_from")) return {};
  return reader.read("raised_from", plan.raised_from.emplace());
}

// Before version 3 a policy was text in planner_config. Without it the plan would run as a planner's.
Status check_no_old_policy(const JsonReader& document, const Plan& plan) {
  for (const auto& [key, value] : plan.planner_config) {
    if (key != "fast memory of the policy") continue;
    return document.error("planner_config", "a plan under a policy, in the form of version 2: plan again");
  }
  return {};
}

// Before version 8 the lower bound was that of the plan's own order.
Status read_bounds(const JsonReader& document, int version, Plan& plan) {
  if (version < 8) return document.read("lower_bound_seconds", plan.order_bound_seconds);
  SLUICE_RETURN_IF_ERROR(document.read("lower_bound_seconds", plan.lower_bound_seconds));
  return document.read("order_bound_seconds", plan.order_bound_seconds);
}

Status read_heading(const JsonReader& document, int version, Plan& plan) {
  SLUICE_ASSIGN(const JsonReader graph, document.object("graph"));
  SLUICE_RETURN_IF_ERROR(graph.read("name", plan.graph_name));
  SLUICE_RETURN_IF_ERROR(graph.read("fingerprint", plan.graph_fingerprint));
  SLUICE_ASSIGN(const JsonReader machine, document.object("machine"));
  SLUICE_RETURN_IF_ERROR(machine.read("fingerprint", plan.machine_fingerprint));
  SLUICE_RETURN_IF_ERROR(document.read("planner", plan.planner));
  SLUICE_RETURN_IF_ERROR(document.read("planner_config", plan.planner_config));
  SLUICE_RETURN_IF_ERROR(document.read("solver_status", plan.solver_status));
  SLUICE_RETURN_IF_ERROR(document.read_figure("predicted_step_seconds", plan.predicted_step_seconds));
  SLUICE_RETURN_IF_ERROR(read_bounds(document, version, plan));
  SLUICE_RETURN_IF_ERROR(document.read("budgets", plan.budgets));
  return document.read("arena_bytes", plan.arena_bytes);
}

std::string to_text(const json& document) {
  std::string text = "{\n";
  for (const char* key : kKeys) {
    if (!document.contains(key)) continue;
    const json& value = document.at(key);
    const bool one_line_each = value.is_array() && !value.empty() && value.front().is_object();
    if (text.size() > 2) text += ",\n";
    text += fmt::format("\"{}\": ", key);
    if (!one_line_each) {
      text += value.dump();
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i) text += (i == 0 ? "[\n  " : ",\n  ") + value[i].dump();
    text += "\n]";
  }
  return text + "\n}\n";
}

}  // namespace

json plan_to_json(const graph::Graph& given, const Plan& plan) {
  const PlanGraph step(given, plan);
  const graph::Graph& graph = step.graph();
  json document = {{"format", kFormatName},
                   {"version", kPlanFormatVersion},
                   {"graph", {{"name", plan.graph_name}, {"fingerprint", plan.graph_fingerprint}}},
                   {"machine", {{"fingerprint", plan.machine_fingerprint}}},
                   {"planner", plan.planner},
                   {"planner_config", plan.planner_config},
                   {"solver_status", plan.solver_status},
                   {"predicted_step_seconds", plan.predicted_step_seconds},
                   {"lower_bound_seconds", plan.lower_bound_seconds},
                   {"order_bound_seconds", plan.order_bound_seconds},
                   {"budgets", plan.budgets},
                   {"arena_bytes", plan.arena_bytes},
                   {"ops", ops_to_json(graph, plan)},
                   {"residencies", residencies_to_json(graph, plan)},
                   {"blocks", blocks_to_json(plan)},
                   {"migrations", migrations_to_json(graph, plan)}};
  if (!plan.schedule.empty()) document["schedule"] = plan.schedule;
  if (!plan.stitches.empty()) document["stitches"] = stitches_to_json(plan);
  if (plan.raised_from) document["raised_from"] = *plan.raised_from;
  if (plan.prices) document["prices"] = prices_to_json(*plan.prices);
  if (plan.any_order_prices) document["any_order_prices"] = prices_to_json(*plan.any_order_prices);
  return document;
}

Result<Plan> plan_from_json(const json& document) {
  const JsonReader reader(document);
  Plan plan;
  SLUICE_ASSIGN(const int version, read_format(reader, kFormatName, "a plan file",
                                               {kOldestPlanFormatVersion, kPlanFormatVersion, "plan again"}));
  SLUICE_RETURN_IF_ERROR(read_heading(reader, version, plan));
  SLUICE_RETURN_IF_ERROR(read_entries(reader, "ops", read_op, plan.ops));
  SLUICE_RETURN_IF_ERROR(read_entries(reader, "residencies", read_residency, plan.residencies));
  if (version > 1) SLUICE_RETURN_IF_ERROR(read_entries(reader, "blocks", read_block, plan.blocks));
  SLUICE_RETURN_IF_ERROR(version > 2 ? read_options(document, reader, plan) : check_no_old_policy(reader, plan));
  SLUICE_RETURN_IF_ERROR(read_schedule(document, reader, version, plan));
  SLUICE_RETURN_IF_ERROR(read_stitches(document, reader, version, plan));
  SLUICE_RETURN_IF_ERROR(check_no_early_encoding(reader, version, plan));
  SLUICE_RETURN_IF_ERROR(check_no_early_processor(reader, version, plan));
  SLUICE_RETURN_IF_ERROR(read_entries(reader, "migrations", read_migration, plan.migrations));
  return plan;
}

Status write_plan_document(const std::filesystem::path& path, const json& document) {
  return write_file(path, to_text(document));
}

Status write_plan(const std::filesystem::path& path, const graph::Graph& graph, const Plan& plan) {
  return write_plan_document(path, plan_to_json(graph, plan));
}

Result<Plan> read_plan(const std::filesystem::path& path) {
  SLUICE_ASSIGN(const json document, read_json_file(path));
  Result<Plan> plan = plan_from_json(document);
  if (plan.ok()) return plan;
  return Error{plan.error().code, fmt::format("plan file '{}': {}", path.string(), plan.error().message)};
}

}  // namespace sluice::plan
