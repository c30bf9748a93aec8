// Sentinel (Ren et al., HPCA 2021): layer-based migration intervals, a reserved region for short-lived tensors,
// prefetch one interval ahead, eviction as soon as the interval is done with a tensor, and test and trial for what
// comes late; where ops cannot use what lies in slow memory, they wait (Sentinel-GPU, section V).
// docs/planners/sentinel.md says what is the paper's and what is ours; each of ours can be switched off.
#include <fmt/format.h>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/sentinel/candidate_search.hpp"
#include "sluice/planners/sentinel/test_and_trial.hpp"

namespace sluice::planners {
namespace {

std::vector<PlannerAddition> sentinel_additions() {
  return {{"choice", "simulated steps choose interval, order and room, instead of equations 1 and 2 alone"},
          {"staying", "what fits stays in fast memory, instead of leaving when two intervals do not need it"},
          {"in-place", "prefetches that are dearer than using the tensor where it lies are not made"},
          {"ahead", "prefetches begin as early as the link needs to be in time, instead of one interval ahead"},
          {"prices",
           "of several slow tiers a tensor leaves for the one where its copies cost least, instead of the nearest"},
          {"lending", "until short-lived tensors are made, others may have the room reserved for them"},
          {.name = "encode",
           .summary = "tensors with many zeros move encoded where that takes less time (only where named)",
           .by_default = false,
           .wants_encodings = true}};
}

// "moved of as they are", in one direction over the links of all slow tiers.
std::string moved_bytes(const Candidate& candidate, const std::vector<SlowTier>& slow,
                        memory::LinkId SlowTier::*direction) {
  Bytes moved = 0;
  Bytes raw = 0;
  for (const SlowTier& each : slow) {
    moved += candidate.timeline.link_bytes[as_index(each.*direction)];
    raw += candidate.timeline.raw_link_bytes[as_index(each.*direction)];
  }
  return fmt::format("{} of {}", moved, raw);
}

void describe(const CandidateBuilder& builder, const Candidate& candidate, plan::Plan& plan) {
  const ScheduleOptions& options = candidate.options;
  const IntervalCut cut = cut_into_intervals(builder.liveness(), options.interval_length);
  const IntervalEstimate estimated = estimate_candidate(builder, cut);
  const bool hottest = options.order == PrefetchOrder::kHottestFirst;
  plan.planner_config = {
      {"migration", text_of(sentinel_settings().rows.front(), SentinelConfig{.migration = options.migration})},
      {"interval_length", fmt::format("{}", options.interval_length)},
      {"intervals", fmt::format("{}", cut.intervals.size())},
      {"prefetch_order", hottest ? "hottest-first" : "soonest-first"},
      {"accesses", builder.request().accesses == nullptr ? "ops that use a tensor" : "counted in main memory"},
      {"headroom_bytes", fmt::format("{}", options.headroom)},
      {"small_bytes", fmt::format("{}", options.small_bytes)},
      {"short_lived_tensors", short_lived_move(options) ? "move" : "stay"},
      {"equation_1_tensor_bytes", fmt::format("{}", estimated.tensor_bytes)},
      {"equation_1_room_bytes", fmt::format("{}", estimated.room_bytes)},
      {"equation_2_goal_seconds", fmt::format("{:.6f}", estimated.goal_seconds)},
      {"equation_2_exposed_seconds", fmt::format("{:.6f}", estimated.exposed_seconds)},
      {"additions", names_of_additions(builder.request().additions, sentinel_additions())},
      {"prefetches", fmt::format("{}", candidate.prefetches.size())},
      {"prefetches_left_out", fmt::format("{}", options.left_out.size())},
      {"candidates_simulated", fmt::format("{}", builder.built())},
  };
  if (candidate.encoded_units == 0) return;
  plan.planner_config.emplace_back("units_worth_encoding", fmt::format("{}", candidate.encoded_units));
  plan.planner_config.emplace_back("moved_bytes_out", moved_bytes(candidate, builder.slow(), &SlowTier::outward));
  plan.planner_config.emplace_back("moved_bytes_in", moved_bytes(candidate, builder.slow(), &SlowTier::inward));
}

// The best candidate of one way to move units, with what made it.
struct Found {
  std::unique_ptr<CandidateBuilder> builder;
  std::optional<Candidate> best;
  Forecast forecast;

  Seconds seconds() const { return best->timeline.step_seconds; }
};

Result<CandidateSearch> run_search(CandidateBuilder& builder, bool ahead, const Found* as_it_is) {
  CandidateSearch search(builder, ahead);
  if (as_it_is != nullptr) search.begin_with(as_it_is->best->options, as_it_is->forecast);
  SLUICE_RETURN_IF_ERROR(search.run());
  return search;
}

// With prefetches an interval ahead and with earlier ones, where there is a choice: the latter if they are worth it.
Result<CandidateSearch> search_both_ways(CandidateBuilder& builder, const Found* as_it_is) {
  const AdditionSet& additions = builder.request().additions;
  const bool ahead = additions.has(SentinelAddition::kAhead);
  if (!ahead || !additions.has(SentinelAddition::kChoice)) return run_search(builder, ahead, as_it_is);
  Result<CandidateSearch> plain = run_search(builder, false, as_it_is);
  if (plain.ok() && plain->good_enough()) return plain;
  Result<CandidateSearch> early = run_search(builder, true, nullptr);
  const bool worth = early.ok() && (!plain.ok() || early->seconds() < kWorthMoreTraffic * plain->seconds());
  return worth ? std::move(early) : std::move(plain);
}

// With `as_it_is`, units for which it pays move encoded, and the search begins with what was found without.
Result<Found> find_best(const PlanRequest& request, const std::vector<SlowTier>& slow,
                        const Found* as_it_is = nullptr) {
  auto builder = std::make_unique<CandidateBuilder>(request, slow, as_it_is != nullptr);
  SLUICE_ASSIGN(CandidateSearch search, search_both_ways(*builder, as_it_is));
  search.pack_tightly();
  Candidate best = search.take_best();
  return Found{std::move(builder), std::move(best), search.forecast()};
}

// Encoding takes room for staging, so that a small budget may do better without it.
Result<Found> find_best_way(const PlanRequest& request, const std::vector<SlowTier>& slow) {
  Result<Found> as_it_is = find_best(request, slow);
  if (!as_it_is.ok() || !request.additions.has(SentinelAddition::kEncode)) return as_it_is;
  Result<Found> encoded = find_best(request, slow, &*as_it_is);
  const bool better =
      encoded.ok() && encoded->best->encoded_units > 0 && encoded->seconds() < kWorthMoreTraffic * as_it_is->seconds();
  return better ? std::move(encoded) : std::move(as_it_is);
}

Result<std::unique_ptr<PlanSearch>> search_sentinel(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("sentinel", request.machine));
  SLUICE_ASSIGN(Found found, find_best_way(request, slow));
  const auto describe_candidate = [made_by = found.builder.get()](const Candidate& candidate, plan::Plan& plan) {
    describe(*made_by, candidate, plan);
  };
  describe_candidate(*found.best, found.best->plan);
  return std::unique_ptr<PlanSearch>(std::make_unique<TestAndTrial>(std::move(found.builder), *std::move(found.best),
                                                                    std::move(found.forecast), describe_candidate));
}

Result<plan::Plan> plan_sentinel(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::unique_ptr<PlanSearch> search, search_sentinel(request));
  return settle_in_simulation(*search, request);
}

}  // namespace

PlannerEntry sentinel_planner() {
  return {.name = "sentinel",
          .summary = "prefetch by migration intervals, evict early (Sentinel, HPCA 2021)",
          .plan = plan_sentinel,
          .traits = {.decides = "search",
                     .profiles = true,
                     .counts_accesses = true,
                     .moves = true,
                     .all_tensors = true,
                     .any_graph = true,
                     .groups_small = true,
                     .several_tiers = true},
          .search = search_sentinel,
          .keeps_short_lived_fast = true,
          .additions = sentinel_additions(),
          .settings = sentinel_settings()};
}

}  // namespace sluice::planners
