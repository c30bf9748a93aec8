// kernel-choice: the implementation of each op chosen by its time and its workspace.
//
// An op's implementations differ in time and in the scratch memory that they take while they run (AutoTM section 3.4:
// "kernel implementation selection"). The fastest may have a workspace that drives other tensors out. What that costs
// depends on the budget and on what else is needed then, which is the placing planner's business. So a few rules are
// tried: every op takes the fastest of its implementations whose operands and workspace together stay within a share of
// the fast budget, for one share after the other; and the one for which time and workspace together cost least, at one
// price of room after the other. `sentinel` plans for each, the simulator times it, and the best is kept. That may be
// the implementations that ops have anyway: others round differently, so they must be clearly worth it.
//
// Profiles without times of other implementations (Profile::choices) leave nothing to choose.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "sluice/planners/chosen_planner.hpp"
#include "sluice/planners/implementations.hpp"
#include "sluice/planners/plan_search.hpp"
#include "sluice/planners/rescheduled_request.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"
#include "sluice/planners/sentinel/sentinel.hpp"

namespace sluice::planners {
namespace {

// Of the fast budget, for an op's operands and workspace. The first holds any op that can run at all.
constexpr double kBudgetShares[] = {1, 0.8, 0.6, 0.4, 0.25, 0.15, 0};
// Of the time in which a byte leaves for the nearest slow tier and comes back: what a byte of workspace costs. Not
// every byte drives another one out, and not every transfer is waited for.
constexpr double kPrices[] = {0.06, 0.12, 0.25, 0.5, 1};

// Choices that sentinel planned for and the simulator timed, the best of them kept.
class KernelSearch {
 public:
  explicit KernelSearch(const PlanRequest& request) : given_(request) {}

  Status run() {
    SLUICE_ASSIGN(const std::vector<SlowTier> slow, find_slow_tiers("kernel-choice", given_.machine));
    consider(Implementations::first_ones(given_.graph), "");
    if (!given_.profile.choices.empty()) consider_rules(slow.front());
    return best_ ? Status() : Status(*failure_);
  }

  const std::shared_ptr<const RescheduledRequest>& best() const { return best_; }

  std::vector<std::pair<std::string, std::string>> description() const {
    const auto others =
        std::ranges::count_if(choices_, [](const graph::OpChoice& each) { return each.implementation != 0; });
    if (others == 0) return {{"kernels", "those that ops have anyway"}};
    return {{"kernels", fmt::format("{} ops by others than the first: {}", others, rule_)},
            {"kernels_tried", fmt::format("{}", tried_.size())},
            {"simulated_with_first_kernels", own_seconds_ ? fmt::format("{:.6f}", *own_seconds_) : "no plan"}};
  }

 private:
  void consider_rules(const SlowTier& slow) {
    const Implementations implementations(given_);
    const auto budget = static_cast<double>(given_.budgets[memory::kFastTier]);
    for (const double share : kBudgetShares) {
      consider(implementations.fastest_within(static_cast<Bytes>(share * budget)),
               fmt::format("the fastest within {:.0f} % of the fast budget", 100 * share));
    }
    const Seconds there_and_back =
        1 / given_.machine.link(slow.outward).bandwidth + 1 / given_.machine.link(slow.inward).bandwidth;
    for (const double price : kPrices) {
      const std::vector<double> alike(given_.graph.ops().size(), price * there_and_back);
      consider(implementations.cheapest_at(alike),
               fmt::format("the cheapest, at {:.0f} % of moving what a workspace drives out", 100 * price));
    }
  }

  void consider(std::vector<graph::OpChoice> choices, const std::string& rule) {
    if (!tried_.insert(choices).second) return;
    PlanRequest asked = given_;
    asked.choices = choices;
    asked.additions = default_additions(placed_by_);
    auto step = std::make_shared<const RescheduledRequest>(asked);
    // No draft, unless one is asked for: how tightly a plan packs can be as much as the kernels differ.
    const Result<plan::Plan> plan = placed_by_.plan(step->request());
    if (!plan.ok()) {
      if (!failure_) failure_ = plan.error();
      return;
    }
    keep_if_best(std::move(step), std::move(choices), rule, *plan);
  }

  void keep_if_best(std::shared_ptr<const RescheduledRequest> step, std::vector<graph::OpChoice> choices,
                    const std::string& rule, const plan::Plan& plan) {
    const Seconds seconds = simulated_seconds(step->request(), plan);
    const bool own = graph::is_own_choice(given_.graph, choices);
    if (own) own_seconds_ = seconds;
    const bool best_is_own = best_ && own_seconds_ == seconds_;
    if (best_ && seconds >= (best_is_own ? kWorthMoreTraffic : 1.0) * seconds_) return;
    best_ = std::move(step);
    choices_ = std::move(choices);
    rule_ = rule;
    seconds_ = seconds;
  }

  const PlanRequest& given_;
  PlannerEntry placed_by_ = sentinel_planner();
  std::set<std::vector<graph::OpChoice>> tried_;
  std::shared_ptr<const RescheduledRequest> best_;
  std::vector<graph::OpChoice> choices_;  // of the best
  std::string rule_;                      // of the best
  Seconds seconds_ = 0;                   // of the best
  std::optional<Seconds> own_seconds_;
  std::optional<Error> failure_;  // the first
};

Result<std::unique_ptr<PlanSearch>> search_kernels(const PlanRequest& request) {
  KernelSearch kernels(request);
  SLUICE_RETURN_IF_ERROR(kernels.run());
  SLUICE_ASSIGN(std::unique_ptr<PlanSearch> search, sentinel_planner().search(kernels.best()->request()));
  return std::unique_ptr<PlanSearch>(
      std::make_unique<RescheduledSearch>(kernels.best(), std::move(search), kernels.description()));
}

Result<plan::Plan> plan_kernels(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::unique_ptr<PlanSearch> search, search_kernels(request));
  return settle_in_simulation(*search, request);
}

}  // namespace

PlannerEntry kernel_choice_planner() {
  return {.name = "kernel-choice",
          .summary = "sentinel, with the implementation of each op chosen by its time and its workspace",
          .plan = plan_kernels,
          .traits = sentinel_planner().traits,
          .search = search_kernels,
          .keeps_short_lived_fast = true,
          .chooses_implementations = true};
}

}  // namespace sluice::planners
