#include "sluice/planners/joint/finalists.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::planners {
namespace {

constexpr graph::OpIndex kMostOps = 250'000;  // that the samples of one plan run
constexpr int kMostSamples = 200;
constexpr int kFewestSamples = 40;  // of which four are above the 90th percentile

struct Finalist {
  TimedPlan plan;
  sim::NoisyStep step;
};

Finalist judged(const PlanRequest& request, const sim::Noise& noise, TimedPlan plan) {
  const sim::NoisyStep step =
      sim::predict_under_noise(request.graph, request.machine, request.profile, plan.plan, noise).value();
  return {std::move(plan), step};
}

TimedPlan described(Finalist taken, std::size_t compared, const sim::Noise& noise,
                    const std::optional<Seconds>& sentinel) {
  auto& config = taken.plan.plan.planner_config;
  config.emplace_back("compared_under_noise", fmt::format("{} plans, {} samples", compared, noise.samples));
  config.emplace_back("percentile_90_seconds", fmt::format("{:.6f}", taken.step.percentile_90));
  if (sentinel) config.emplace_back("percentile_90_seconds_of_sentinel", fmt::format("{:.6f}", *sentinel));
  return std::move(taken.plan);
}

}  // namespace

sim::Noise judging_noise(const graph::Graph& graph) {
  sim::Noise noise;
  noise.samples = std::clamp(kMostOps / std::max(1, graph.op_count()), kFewestSamples, kMostSamples);
  return noise;
}

TimedPlan steadiest(const PlanRequest& request, std::optional<TimedPlan> sentinel, std::vector<TimedPlan> others) {
  if (sentinel) std::erase_if(others, [&](const TimedPlan& each) { return each.seconds >= sentinel->seconds; });
  if (sentinel && others.empty()) return *std::move(sentinel);
  const Seconds fastest = std::ranges::min_element(others, {}, &TimedPlan::seconds)->seconds;
  std::erase_if(others, [&](const TimedPlan& each) { return each.seconds > kHardlySlower * fastest; });
  const sim::Noise noise = judging_noise(request.graph);
  std::vector<Finalist> finalists;
  for (TimedPlan& each : others) finalists.push_back(judged(request, noise, std::move(each)));
  const auto percentile = [](const Finalist& each) { return each.step.percentile_90; };
  Finalist& best = *std::ranges::min_element(finalists, {}, percentile);
  if (!sentinel) return described(std::move(best), finalists.size(), noise, std::nullopt);
  Finalist first = judged(request, noise, *std::move(sentinel));
  const Seconds of_sentinel = percentile(first);
  const bool clear = percentile(best) <= kClearlySteadier * of_sentinel;
  return described(std::move(clear ? best : first), finalists.size() + 1, noise, of_sentinel);
}

}  // namespace sluice::planners
