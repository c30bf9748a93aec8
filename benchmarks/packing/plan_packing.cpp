// How much of a budget packing loses to fragmentation: packs the residencies of saved plans again, into the least that
// any packing could take, the most bytes that are resident at one time ("max-live").
//
//   plan_packing RESULT.json PLAN MODEL BATCH [PLAN MODEL BATCH...]
//
// For each plan (sluice plan MODEL --batch BATCH -o PLAN) and tier: the arena of the plan itself, and the height that
// the plan builder comes to when max-live is its budget, over max-live; and the median processor time of packing the
// plan's tiers into such budgets. Ends with 1 when a packing is not within 0.5 % of max-live or takes over 0.2 s.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/plan_file.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::benchmarks {
namespace {

constexpr double kNear = 1.005;    // of max-live
constexpr Seconds kLongest = 0.2;  // a packing
constexpr Bytes kPlenty = Bytes{1} << 50;
constexpr int kRounds = 5;

struct PackedTier {
  memory::TierId tier = 0;
  Bytes max_live = 0;
  Bytes in_plan = 0;  // the arena that the plan asks for
  Bytes packed = 0;   // with max-live as the budget
  Seconds seconds = 0;

  double ratio(Bytes height) const { return static_cast<double>(height) / static_cast<double>(max_live); }
  bool near() const { return ratio(packed) <= kNear && seconds <= kLongest; }
};

struct PackedModel {
  std::string model, planner;
  std::int64_t batch = 0;
  std::size_t residencies = 0;
  std::vector<PackedTier> tiers;
};

plan::PlanBuilder builder_of(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan) {
  plan::PlanBuilder builder(graph, machine);
  for (const plan::Residency& each : plan.residencies) builder.add_residency(each.tensor, each.tier, each.ops);
  for (const plan::Migration& each : plan.migrations) {
    builder.add_migration(each.tensor, each.from, each.to, each.issue_after, each.needed_by);
  }
  for (const plan::Block& block : plan.blocks) builder.add_block(block.members);
  return builder;
}

// What packing comes to in `tier` when it has `budget` there and plenty elsewhere.
plan::PackingFailure pack(const plan::PlanBuilder& builder, std::size_t tiers, memory::TierId tier, Bytes budget) {
  std::vector<Bytes> budgets(tiers, kPlenty);
  budgets[as_index(tier)] = budget;
  plan::PackingFailure failure;
  const Result<plan::Plan> plan = builder.finish(budgets, &failure);
  if (plan.ok()) failure = {tier, budget, plan->arena_bytes[as_index(tier)], 0};
  return failure;
}

PackedTier pack_tier(const plan::PlanBuilder& builder, const plan::Plan& plan, memory::TierId tier) {
  const std::size_t tiers = plan.arena_bytes.size();
  PackedTier packed{tier, pack(builder, tiers, tier, 0).bound, plan.arena_bytes[as_index(tier)], 0, 0};
  std::vector<Seconds> seconds;
  for (int round = 0; round < kRounds; ++round) {
    const std::clock_t begin = std::clock();
    packed.packed = pack(builder, tiers, tier, align_up(packed.max_live, memory::kBlockAlignment)).needed;
    seconds.push_back(static_cast<Seconds>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  std::ranges::sort(seconds);
  packed.seconds = seconds[seconds.size() / 2];
  return packed;
}

Result<PackedModel> pack_again(const std::string& file, const std::string& model, const std::string& batch) {
  PackedModel packed{model, {}, 0, 0, {}};
  SLUICE_ASSIGN(packed.batch, parse_integer(batch, 1));
  train::WorkloadOptions options{.model = model};
  options.shape.batch = packed.batch;
  SLUICE_ASSIGN(const memory::Machine machine, memory::make_machine({.threads = options.threads}));
  SLUICE_ASSIGN(const plan::Plan plan, plan::read_plan(file));
  SLUICE_ASSIGN(const train::Workload workload, train::build_workload(options));
  if (workload.graph().fingerprint() != plan.graph_fingerprint) {
    return bad_input(fmt::format("{} is no plan for {} with batch {}", file, model, batch));
  }
  const plan::PlanGraph step(workload.graph(), plan);
  const plan::PlanBuilder builder = builder_of(step.graph(), machine, plan);
  packed.planner = plan.planner;
  packed.residencies = plan.residencies.size();
  for (std::size_t tier = 0; tier < plan.arena_bytes.size(); ++tier) {
    if (plan.arena_bytes[tier] > 0) packed.tiers.push_back(pack_tier(builder, plan, as_id<memory::TierId>(tier)));
  }
  return packed;
}

void print(const std::vector<PackedModel>& models) {
  report::TextTable table({{"model"},
                           {"planner"},
                           {"residencies", report::Align::kRight},
                           {"tier", report::Align::kRight},
                           {"max-live", report::Align::kRight},
                           {"plan", report::Align::kRight},
                           {"packed", report::Align::kRight},
                           {"time", report::Align::kRight},
                           {"near"}});
  for (const PackedModel& each : models) {
    for (const PackedTier& tier : each.tiers) {
      table.add_row({fmt::format("{} b{}", each.model, each.batch), each.planner, std::to_string(each.residencies),
                     std::to_string(tier.tier), format_bytes(tier.max_live),
                     fmt::format("{:.4f}", tier.ratio(tier.in_plan)), fmt::format("{:.4f}", tier.ratio(tier.packed)),
                     format_seconds(tier.seconds), tier.near() ? "yes" : "no"});
    }
  }
  fmt::print("{}", table.text());
}

nlohmann::json to_json(const std::vector<PackedModel>& models) {
  nlohmann::json list = nlohmann::json::array();
  for (const PackedModel& each : models) {
    for (const PackedTier& tier : each.tiers) {
      list.push_back({{"model", each.model},
                      {"batch", each.batch},
                      {"planner", each.planner},
                      {"residencies", each.residencies},
                      {"tier", tier.tier},
                      {"max_live_bytes", tier.max_live},
                      {"plan_arena_bytes", tier.in_plan},
                      {"packed_bytes", tier.packed},
                      {"seconds", tier.seconds},
                      {"near", tier.near()}});
    }
  }
  return list;
}

Result<int> run(std::span<char*> arguments) {
  std::vector<PackedModel> models;
  for (std::size_t i = 2; i < arguments.size(); i += 3) {
    SLUICE_ASSIGN(PackedModel packed, pack_again(arguments[i], arguments[i + 1], arguments[i + 2]));
    models.push_back(std::move(packed));
  }
  SLUICE_ASSIGN(const memory::Machine machine, memory::make_machine({.threads = 1}));
  print(models);
  SLUICE_RETURN_IF_ERROR(
      report::write_json_file(arguments[1], {{"run", report::run_record(machine)}, {"packings", to_json(models)}}));
  const auto all_near = [](const PackedModel& each) { return std::ranges::all_of(each.tiers, &PackedTier::near); };
  return std::ranges::all_of(models, all_near) ? 0 : 1;
}

}  // namespace
}  // namespace sluice::benchmarks

int main(int argc, char** argv) {
  if (argc < 5 || (argc - 2) % 3 != 0) {
    fmt::print(stderr, "usage: plan_packing RESULT.json PLAN MODEL BATCH [PLAN MODEL BATCH...]\n");
    return 2;
  }
  const auto result = sluice::benchmarks::run({argv, sluice::as_index(argc)});
  if (result.ok()) return *result;
  fmt::print(stderr, "plan_packing: {}\n", result.error().message);
  return 2;
}
