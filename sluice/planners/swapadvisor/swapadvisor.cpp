// swapadvisor (Huang, Jin, Li, "SwapAdvisor: Pushing Deep Learning Beyond the GPU Memory Limit via Smart Swapping",
// ASPLOS 2020): the order of ops and the allocation of memory are sought together by a genetic algorithm, and what is
// swapped follows from them. docs/planners/swapadvisor.md says what is the paper's and what is ours.
//
// The search (genetic_search.hpp) asks the decoder (swap_decoder.hpp) what an individual takes. The best few become
// plans, packed and simulated, and the fastest of them is the plan, unless the graph's own order is faster.
#include <fmt/format.h>

#include "sluice/planners/interruption.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/leaving_tiers.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/swapadvisor/genetic_search.hpp"

namespace sluice::planners {
namespace {

struct SwapAdvisorConfig {
  Seconds seconds = 60;
  int population = 40;
  int generations = 100;
  int patience = 20;
  int threads = 2;
  std::uint64_t seed = 0;
};

const Settings& swapadvisor_settings() {
  using Config = SwapAdvisorConfig;
  static const Settings all{
      Config{},
      {setting<&Config::seconds>({"seconds", "that the search may take", "ours", 0, 1e6}),
       setting<&Config::population>({"population", "individuals of a generation", "ours", 1, 1e5}),
       setting<&Config::generations>({"generations", "that are bred, at most", "ours", 1, 1e6}),
       setting<&Config::patience>(
           {"patience", "generations without a better one after which it ends; 0: all are bred", "ours", 0, 1e6}),
       setting<&Config::threads>({"threads", "that search; the plan does not depend on it", "ours", 1, 256}),
       setting<&Config::seed>({"seed", "of all that is drawn", "ours", 0, 1e9})}};
  return all;
}

GeneticOptions genetic_options(const PlanRequest& request) {
  const auto config = config_of<SwapAdvisorConfig>(request);
  return {.population = config.population,
          .generations = config.generations,
          .patience = config.patience,
          .seconds = config.seconds,
          .threads = config.threads,
          .seed = config.seed};
}

std::string_view why_ended(GeneticEnd end) {
  switch (end) {
    case GeneticEnd::kGenerations:
      return "all generations";
    case GeneticEnd::kNothingBetter:
      return "nothing better";
    case GeneticEnd::kNothingWaits:
      return "nothing is waited for";
    case GeneticEnd::kTime:
      return "time";
    case GeneticEnd::kStopped:
      break;
  }
  return "stopped";
}

// A plan of an individual, for the request's graph.
struct SwapPlan {
  plan::Plan plan;
  Bytes fast_capacity = 0;  // that its swaps were decoded for
  Seconds seconds = 0;      // simulated
};

class SwapPlanner {
 public:
  SwapPlanner(const PlanRequest& request, const std::vector<SlowTier>& slow)
      : request_(request), slow_(slow), decoder_(request, slow.front()), orders_(request.graph) {}

  Result<SwapPlan> plan_of(const std::vector<graph::OpIndex>& order, const std::vector<char>& begins,
                           bool tight) const {
    const RescheduledRequest rescheduled(request_, order);
    const PlanRequest& step = rescheduled.request();
    const graph::Liveness liveness = graph::analyze_liveness(step.graph);
    const auto build = [&](const std::vector<Bytes>& capacities) -> std::optional<plan::PlanBuilder> {
      const auto decoded = decoder_.decode(order, begins, capacities[memory::kFastTier]);
      if (!decoded) return std::nullopt;
      plan::PlanBuilder builder(step.graph, step.machine);
      const SlowRooms rooms(slow_, step.graph.op_count(), capacities);
      add_tensor_schedules(builder, step.graph, liveness, decoded->schedules, rooms);
      return builder;
    };
    SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(step, step.budgets, build));
    if (tight) packed = pack_with_more_capacity(step, std::move(packed), build);
    const Bytes capacity = packed.fast_capacity();
    const Seconds seconds = simulated_seconds(step, packed.plan);
    return SwapPlan{rescheduled.for_given_graph(std::move(packed.plan)), capacity, seconds};
  }

  // Nothing moves.
  Result<plan::Plan> plan_of_all_fast() const {
    const graph::Liveness liveness = graph::analyze_liveness(request_.graph);
    plan::PlanBuilder builder(request_.graph, request_.machine);
    for (graph::TensorId id = 0; id < request_.graph.tensor_count(); ++id) {
      const bool persistent = graph::is_persistent(request_.graph.tensor(id).role);
      add_tensor_schedule(builder, request_.graph, liveness, id, memory::kFastTier,
                          always_fast(liveness, id, persistent));
    }
    return builder.finish(request_.budgets);
  }

  Result<plan::Plan> plan() const {
    if (Result<plan::Plan> all_fast = plan_of_all_fast(); all_fast.ok()) return all_fast;
    const SwapGenes own = genes_of_the_graph(request_.graph.ops().size(), decoder_.size_count());
    SLUICE_ASSIGN(SwapPlan best, plan_of(orders_.by_priority(own.priorities), own.begins, false));
    if (request_.draft) return std::move(best.plan);
    const GeneticResult found = breed_swaps(
        decoder_, orders_, request_.graph.ops().size(), best.fast_capacity, genetic_options(request_),
        [&] { return request_.stopped(); },
        [&](double done, const std::optional<Seconds>& seconds) { request_.report(done, seconds); });
    const SwapIndividual graphs_own{.genes = own, .order = orders_.by_priority(own.priorities)};
    const SwapIndividual* chosen = &graphs_own;
    for (const SwapIndividual& each : found.best) {
      Result<SwapPlan> plan = plan_of(each.order, each.genes.begins, false);
      if (!plan.ok() || plan->seconds >= best.seconds) continue;
      best = std::move(*plan);
      chosen = &each;
    }
    Result<SwapPlan> tight = plan_of(chosen->order, chosen->genes.begins, true);
    if (tight.ok() && tight->seconds < best.seconds) best = std::move(*tight);
    describe_in(best.plan, found, chosen == &graphs_own);
    request_.report(found.generations);
    return std::move(best.plan);
  }

 private:
  static void describe_in(plan::Plan& plan, const GeneticResult& result, bool own) {
    const auto seconds = [](Seconds each) { return fmt::format("{:.6f}", each); };
    plan.planner_config = {{"order", own ? "the graph's" : "bred"},
                           {"generations", fmt::format("{}", result.generations.size())},
                           {"evaluations", fmt::format("{}", result.evaluations)},
                           {"ended_by", std::string(why_ended(result.end))}};
    if (!result.best.empty()) plan.planner_config.emplace_back("evaluated_seconds", seconds(*result.best[0].seconds));
    note_rounds(plan, result.generations, "generation");
    if (result.end == GeneticEnd::kStopped) note_interruption(plan, "the best until then");
  }

  const PlanRequest& request_;
  const std::vector<SlowTier>& slow_;
  SwapDecoder decoder_;
  OpOrders orders_;
};

Result<plan::Plan> plan_swapadvisor(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("swapadvisor", request.machine));
  return SwapPlanner(request, slow).plan();
}

}  // namespace

PlannerEntry swapadvisor_planner() {
  return {.name = "swapadvisor",
          .summary = "order, size classes and swaps of all tensors, by a genetic algorithm (Huang et al. 2020)",
          .plan = plan_swapadvisor,
          .traits = {.decides = "genetic algorithm",
                     .profiles = true,
                     .moves = true,
                     .reorders = true,
                     .whole_step = true,
                     .all_tensors = true,
                     .any_graph = true,
                     .several_tiers = true},
          .settings = swapadvisor_settings()};
}

}  // namespace sluice::planners
