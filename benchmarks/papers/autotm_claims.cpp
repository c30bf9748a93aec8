#include "benchmarks/papers/autotm_claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sluice::autotm {
namespace {

constexpr std::string_view kStatic = "autotm-static";
constexpr std::string_view kSync = "autotm-sync";
constexpr std::string_view kFirstTouch = "first-touch";
constexpr Ratio kLeast{8, 1};                              // the least DRAM of figure 7
constexpr std::array kReplaced{Ratio{4, 1}, Ratio{1, 1}};  // 80 % and 50 % of the DRAM replaced, figure 7's own

const FiguredModel* named(std::span<const FiguredModel> models, std::string_view name) {
  const auto found = std::ranges::find(models, name, [](const FiguredModel& each) { return each.swept.model; });
  return found == models.end() ? nullptr : &*found;
}

// "3.10x resnet50, 2.95x vgg19"
template <typename Number>
std::string by_model(std::span<const FiguredModel> models, Number number) {
  std::vector<std::string> texts;
  for (const FiguredModel& each : models) {
    if (const std::optional<double> found = number(each)) {
      texts.push_back(fmt::format("{:.2f}x {}", *found, each.swept.model));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::optional<double> slowdown(const FiguredModel& model, std::string_view planner, const Ratio& ratio) {
  const SweepPoint* const point = model.at(planner, ratio);
  return point == nullptr ? std::nullopt : std::optional(point->slowdown);
}

// How many times as fast as with only PMM.
std::optional<double> speedup(const FiguredModel& model, std::string_view planner, const Ratio& ratio) {
  const std::optional<double> found = slowdown(model, planner, ratio);
  return found ? std::optional(model.only_pmm / *found) : std::nullopt;
}

void claim_only_pmm(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  const bool agrees =
      std::ranges::all_of(models, [](const FiguredModel& each) { return each.only_pmm > 3 && each.only_pmm < 8; });
  claims.push_back({"With PMM as a direct substitute for DRAM training takes 3x to 8x as long", "section 6.1, figure 7",
                    by_model(models, [](const FiguredModel& each) { return std::optional(each.only_pmm); }), agrees});
  if (const FiguredModel* inception = named(models, "inception_v4")) {
    claims.push_back({"Inception v4, batch 1472: about 5x with only PMM", "section 1, figure 1",
                      fmt::format("{:.2f}x, batch {}", inception->only_pmm, inception->swept.batch), std::nullopt});
  }
}

void claim_least_dram(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  const auto at = [&](const Ratio& ratio) {
    return by_model(models, [&](const FiguredModel& each) { return speedup(each, kSync, ratio); });
  };
  const std::string least = at(kLeast), equal = at({1, 1});
  if (least.empty() || equal.empty()) return;
  const bool agrees = std::ranges::all_of(models, [](const FiguredModel& each) {
    const auto first = speedup(each, kSync, kLeast), last = speedup(each, kSync, {1, 1});
    return first && last && *first - 1 > *last - *first;
  });
  claims.push_back({"8:1 improves on only PMM dramatically, more DRAM adds only marginally", "section 6.1, figure 7",
                    fmt::format("synchronous over only PMM: at 8:1 {}; at 1:1 {}", least, equal), agrees});
  const FiguredModel* const inception = named(models, "inception_v4");
  if (inception == nullptr) return;
  std::vector<std::string> each;
  for (const Ratio& ratio : inception->ratios) {
    if (const auto found = slowdown(*inception, kSync, ratio)) {
      each.push_back(
          fmt::format("{} {:.2f}x, {:+.0f} %", ratio.text(), inception->only_pmm / *found, 100 * (*found - 1)));
    }
  }
  claims.push_back(
      {"Inception v4: 3.7 times as fast as only PMM, and within 20 % of only DRAM (at which ratio, the "
       "text does not say)",
       "section 1, figure 1", fmt::format("{}", fmt::join(each, "; ")), std::nullopt});
}

void claim_loss(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  const auto sync = performance_lost(models, kSync, kReplaced);
  if (!sync) return;
  const auto touched = performance_lost(models, kFirstTouch, kReplaced);
  const std::string beside = touched ? fmt::format("; first touch {:.1f} %", 100 * *touched) : "";
  claims.push_back(
      {"50 % to 80 % of the DRAM replaced loses a geometric mean of 27.7 % of performance, first touch "
       "71.9 %",
       "abstract", fmt::format("4:1 and 1:1, synchronous: {:.1f} %{}", 100 * *sync, beside),
       touched ? std::optional(*sync < *touched) : std::nullopt});
}

// Whether one falls off faster than the other is in figures 7 and 10a; the text has it only of networks beyond DRAM.
void claim_static(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  std::vector<std::string> texts;
  for (const FiguredModel& each : models) {
    std::vector<std::string> ratios;
    for (const Ratio& ratio : each.ratios) {
      const auto fixed = slowdown(each, kStatic, ratio), moving = slowdown(each, kSync, ratio);
      if (fixed && moving) ratios.push_back(fmt::format("{} {:.2f}", ratio.text(), *fixed / *moving));
    }
    if (!ratios.empty()) texts.push_back(fmt::format("{} {}", each.swept.model, fmt::join(ratios, ", ")));
  }
  if (texts.empty()) return;
  claims.push_back(
      {"Synchronous is faster than static; of the large networks by 23 % (Vgg416; of the conventional "
       "ones the text gives no number)",
       "section 6.2, figure 8", fmt::format("static over synchronous: {}", fmt::join(texts, "; ")), std::nullopt});
}

void claim_vgg(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  const FiguredModel* const vgg = named(models, "vgg19");
  if (vgg == nullptr) return;
  const auto at = [&](std::string_view planner, const Ratio& ratio) { return slowdown(*vgg, planner, ratio); };
  const auto first = at(kSync, {4, 1}), last = at(kSync, {1, 1});
  if (first && last) {
    claims.push_back({"Vgg19 gains most from 4:1 to 1:1, where its second convolution's tensors fit in DRAM",
                      "section 6.1, figure 7", fmt::format("synchronous {:.2f}x at 4:1, {:.2f}x at 1:1", *first, *last),
                      std::nullopt});
  }
  const auto fixed = at(kStatic, kLeast), moving = at(kSync, kLeast);
  if (fixed && moving) {
    claims.push_back({"Vgg19 at 8:1: synchronous slightly slower than static, by fragmentation",
                      "section 6.1, figure 7", fmt::format("static {:.2f}x, synchronous {:.2f}x", *fixed, *moving),
                      *moving > *fixed});
  }
}

// All the feasible points of one planner, by rising budget.
std::vector<const SweepPoint*> curve(const FiguredModel& model, std::string_view planner) {
  std::vector<const SweepPoint*> points;
  for (const Ratio& ratio : model.ratios) {
    if (const SweepPoint* point = model.at(planner, ratio)) points.push_back(point);
  }
  return points;
}

void claim_operands(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  int outputs_first = 0, points = 0;
  for (const FiguredModel& each : models) {
    for (const std::string_view planner : {kStatic, kSync}) {
      for (const SweepPoint* point : curve(each, planner)) {
        ++points;
        outputs_first += point->fast_operands->outputs >= point->fast_operands->inputs ? 1 : 0;
      }
    }
  }
  if (points == 0) return;
  claims.push_back({"Outputs have a slight priority over inputs in DRAM", "section 6.4, figure 10b",
                    fmt::format("at {} of {} points, static and synchronous, their share is as large or larger",
                                outputs_first, points),
                    2 * outputs_first > points});
}

void claim_moves(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  int falls = 0, more_out = 0, points = 0, curves = 0;
  for (const FiguredModel& each : models) {
    const std::vector<const SweepPoint*> points_of = curve(each, kSync);
    if (points_of.size() < 2) continue;
    const auto moved = [](const SweepPoint* point) { return point->bytes_in + point->bytes_out; };
    ++curves;
    falls += moved(points_of.back()) < moved(points_of.front()) ? 1 : 0;
    for (const SweepPoint* point : points_of) {
      if (moved(point) == 0) continue;
      ++points;
      more_out += point->bytes_out >= point->bytes_in ? 1 : 0;
    }
  }
  if (curves == 0) return;
  claims.push_back({"Bytes moved fall once DRAM holds almost all operands, and more go to PMM than come back",
                    "section 6.4, figure 10c",
                    fmt::format("fewer with the most DRAM than with the least: {} of {} models; at {} of {} points as "
                                "many or more go out",
                                falls, curves, more_out, points),
                    falls == curves && 2 * more_out > points});
}

}  // namespace

Result<Ratio> parse_ratio(std::string_view text) {
  Ratio ratio;
  const std::size_t colon = text.find(':');
  const auto whole = [](std::string_view digits, int& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (colon != std::string_view::npos && whole(text.substr(0, colon), ratio.pmm) &&
      whole(text.substr(colon + 1), ratio.dram) && ratio.pmm >= 0 && ratio.dram >= 1) {
    return ratio;
  }
  return Error{ErrorCode::kBadInput, fmt::format("'{}' is no ratio of PMM to DRAM; write one such as 8:1", text)};
}

const SweepPoint* FiguredModel::at(std::string_view planner, const Ratio& ratio) const {
  const auto place = std::ranges::find(ratios, ratio);
  if (place == ratios.end() || swept.points.empty()) return nullptr;
  const std::size_t planners = swept.points.size() / ratios.size();
  const auto first = swept.points.begin() + (place - ratios.begin()) * static_cast<std::ptrdiff_t>(planners);
  const auto last = first + static_cast<std::ptrdiff_t>(planners);
  const auto found = std::find_if(first, last, [&](const SweepPoint& each) { return each.planner == planner; });
  return found == last || !found->feasible() ? nullptr : &*found;
}

std::optional<double> performance_lost(std::span<const FiguredModel> models, std::string_view planner,
                                       std::span<const Ratio> ratios) {
  double logarithms = 0;
  for (const FiguredModel& each : models) {
    for (const Ratio& ratio : ratios) {
      const std::optional<double> found = slowdown(each, planner, ratio);
      if (!found) return std::nullopt;
      logarithms += std::log(*found);
    }
  }
  if (models.empty() || ratios.empty()) return std::nullopt;
  return 1 - std::exp(-logarithms / static_cast<double>(models.size() * ratios.size()));
}

std::vector<FigureClaim> figure_claims(std::span<const FiguredModel> models) {
  std::vector<FigureClaim> claims;
  claim_only_pmm(models, claims);
  claim_least_dram(models, claims);
  claim_loss(models, claims);
  claim_static(models, claims);
  claim_vgg(models, claims);
  claim_operands(models, claims);
  claim_moves(models, claims);
  return claims;
}

}  // namespace sluice::autotm
