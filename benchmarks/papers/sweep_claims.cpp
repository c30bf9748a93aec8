#include "benchmarks/papers/sweep_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sluice/report/text_table.hpp"

namespace sluice {
namespace {

constexpr std::string_view kPlanner = "sentinel";  // of whom the claims are

double loss_of(const SweepPoint& point) { return (point.measured ? point.measured->slowdown : point.slowdown) - 1; }

// The worst of the models, and whose it is.
struct Worst {
  double value = 0;
  std::string model;
};

void keep_worst(std::optional<Worst>& worst, double value, const std::string& model) {
  if (!worst || value > worst->value) worst = Worst{value, model};
}

bool is_at(const SweptModel& swept, const SweepPoint& point, double low, double high) {
  constexpr double kRounding = 0.001;  // budgets are whole pages
  const double share = swept.share(point);
  return point.planner == kPlanner && point.feasible() && share > low - kRounding && share < high + kRounding;
}

std::optional<Worst> loss_at_60(std::span<const SweptModel> models) {
  std::optional<Worst> worst;
  for (const SweptModel& swept : models) {
    for (const SweepPoint& point : swept.points) {
      if (is_at(swept, point, 0.6, 0.6)) keep_worst(worst, loss_of(point), swept.model);
    }
  }
  return worst;
}

// Of performance, 1 / step time: what is lost from the best to the worst budget, as a share of the best.
std::optional<Worst> variation_20_to_40(std::span<const SweptModel> models) {
  std::optional<Worst> worst;
  for (const SweptModel& swept : models) {
    std::vector<double> slowdowns;
    for (const SweepPoint& point : swept.points) {
      if (is_at(swept, point, 0.2, 0.4)) slowdowns.push_back(1 + loss_of(point));
    }
    if (slowdowns.size() < 2) continue;
    const auto [least, most] = std::ranges::minmax(slowdowns);
    keep_worst(worst, 1 - least / most, swept.model);
  }
  return worst;
}

struct Growth {
  const SweptModel* model = nullptr;
  const SweepPoint* point = nullptr;
};

// The models with the least and the most peak memory among those with a budget without loss.
std::optional<std::string> growth_without_loss(std::span<const SweptModel> models) {
  std::vector<Growth> found;
  for (const SweptModel& swept : models) {
    for (const NoLossPoint& each : swept.no_loss) {
      if (each.point.planner == kPlanner && each.point.feasible()) found.push_back({&swept, &each.point});
    }
  }
  if (found.size() < 2) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(found, {}, [](const Growth& each) { return each.model->whole; });
  const auto times = [](Bytes more, Bytes less) { return static_cast<double>(more) / static_cast<double>(less); };
  return fmt::format("from {} to {} peak memory grows {:.1f}x, from {} to {}, and the budget {:.1f}x, from {} to {}",
                     least.model->model, most.model->model, times(most.model->whole, least.model->whole),
                     format_bytes(least.model->whole), format_bytes(most.model->whole),
                     times(most.point->budget, least.point->budget), format_bytes(least.point->budget),
                     format_bytes(most.point->budget));
}

std::string worst_text(const Worst& worst) {
  return fmt::format("at most {:.1f} % ({})", 100 * std::max(0.0, worst.value), worst.model);
}

}  // namespace

std::vector<PublishedClaim> compare_claims(std::span<const SweptModel> models) {
  std::vector<PublishedClaim> claims;
  if (const auto worst = loss_at_60(models)) {
    claims.push_back({"With 60 % of peak memory no model is slower than with fast memory only",
                      "Sentinel, section VII-B and figure 10", worst_text(*worst)});
  }
  if (const auto worst = variation_20_to_40(models)) {
    claims.push_back({"From 20 % to 40 % performance varies by at most 17 %", "Sentinel, section VII-B and figure 10",
                      worst_text(*worst)});
  }
  if (const auto growth = growth_without_loss(models)) {
    claims.push_back({"The fast memory that costs no performance grows much slower than peak memory",
                      "Sentinel, figure 11, ResNet variants", *growth});
    claims.push_back({"Peak memory grows 6.2x, from 5.8 to 36 GB, and fast memory 6.7x, from 1.1 to 7.35 GB",
                      "ReDL, figure 11(b), ResNet-32 to ResNet-152", *growth});
  }
  return claims;
}

std::string describe_claims(std::span<const SweptModel> models) {
  std::string text;
  for (const PublishedClaim& claim : compare_claims(models)) {
    text += format_item(fmt::format("{} ({}). Here: {}.", claim.published, claim.source, claim.here));
  }
  return text;
}

nlohmann::json claims_json(std::span<const SweptModel> models) {
  nlohmann::json list = json::array();
  for (const PublishedClaim& claim : compare_claims(models)) {
    list.push_back({{"published", claim.published}, {"source", claim.source}, {"here", claim.here}});
  }
  return list;
}

}  // namespace sluice
