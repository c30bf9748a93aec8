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
constexpr std::string_view kOutlier = "vgg19";
constexpr Ratio kLeast{8, 1};  // the least DRAM of figure 7
constexpr Ratio kEqual{1, 1};
constexpr std::array kReplaced{Ratio{4, 1}, kEqual};  // 80 % and 50 % of the DRAM

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
}

void claim_least_dram(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  const auto at = [&](const Ratio& ratio) {
    return by_model(models, [&](const FiguredModel& each) { return speedup(each, kSync, ratio); });
  };
  const std::string least = at(kLeast), equal = at(kEqual);
  if (least.empty() || equal.empty()) return;
  const bool agrees = std::ranges::all_of(models, [](const FiguredModel& each) {
    const auto first = speedup(each, kSync, kLeast), last = speedup(each, kSync, kEqual);
    return each.swept.model == kOutlier || (first && last && *first - 1 > *last - *first);
  });
  claims.push_back({"8:1 improves on only PMM dramatically, more DRAM adds only marginally; Vgg19 is an outlier",
                    "section 6.1, figure 7",
                    fmt::format("synchronous over only PMM: at 8:1 {}; at 1:1 {}", least, equal), agrees});
}

void claim_inception(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  const FiguredModel* const inception = named(models, "inception_v4");
  if (inception == nullptr) return;
  claims.push_back({"Inception v4, batch 1472: about 5x with only PMM", "section 1, figure 1",
                    fmt::format("{:.2f}x, batch {}", inception->only_pmm, inception->swept.batch), std::nullopt});
  std::vector<std::string> ratios;
  for (const Ratio& ratio : inception->ratios) {
    if (const auto found = slowdown(*inception, kSync, ratio)) {
      ratios.push_back(
          fmt::format("{} {:.2f}x, {:+.0f} %", ratio.text(), inception->only_pmm / *found, 100 * (*found - 1)));
    }
  }
  if (ratios.empty()) return;
  claims.push_back(
      {"Inception v4: 3.7 times as fast as only PMM, and within 20 % of only DRAM (at which ratio, the "
       "text does not say)",
       "section 1, figure 1", fmt::format("synchronous: {}", fmt::join(ratios, "; ")), std::nullopt});
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

// How fast each falls off is in figures 7 and 10a alone, which are pictures.
void claim_static(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  std::vector<std::string> texts;
  bool always = true;
  for (const FiguredModel& each : models) {
    std::vector<std::string> ratios;
    for (const Ratio& ratio : each.ratios) {
      const auto fixed = slowdown(each, kStatic, ratio), moving = slowdown(each, kSync, ratio);
      if (!fixed || !moving) continue;
      ratios.push_back(fmt::format("{} {:.2f}", ratio.text(), *fixed / *moving));
      always = always && *fixed >= *moving;
    }
    if (!ratios.empty()) texts.push_back(fmt::format("{} {}", each.swept.model, fmt::join(ratios, ", ")));
  }
  if (texts.empty()) return;
  claims.push_back(
      {"Synchronous is faster than static, with Vgg416 by 23 % (of figure 7's networks the text has no "
       "number)",
       "section 6.2, figure 8", fmt::format("static over synchronous: {}", fmt::join(texts, "; ")), always});
}

void claim_vgg(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  const FiguredModel* const vgg = named(models, kOutlier);
  if (vgg == nullptr) return;
  const auto least = speedup(*vgg, kSync, kLeast), less = speedup(*vgg, kSync, {4, 1}),
             equal = speedup(*vgg, kSync, kEqual);
  if (!least || !less || !equal) return;
  claims.push_back({"Vgg19 jumps from 4:1 to 1:1, where its largest convolution's tensors find room in DRAM",
                    "section 6.1, figure 7",
                    fmt::format("synchronous over only PMM {:.2f}x at 8:1, {:.2f}x at 4:1, {:.2f}x at 1:1; that "
                                "convolution's operands are {:.1f} % of everything, less than at large batches",
                                *least, *less, *equal, 100 * vgg->largest_convolution),
                    *equal - *less > *less - *least});
  if (const auto fixed = speedup(*vgg, kStatic, kLeast)) {
    claims.push_back(
        {"Vgg19 at 8:1: synchronous slightly slower than static, by fragmentation", "section 6.1, figure 7",
         fmt::format("over only PMM static {:.2f}x, synchronous {:.2f}x", *fixed, *least), *least < *fixed});
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

Bytes moved(const SweepPoint* point) { return point->bytes_in + point->bytes_out; }

void claim_moves(std::span<const FiguredModel> models, std::vector<FigureClaim>& claims) {
  bool rises_and_falls = true, outward = true;
  std::vector<std::string> texts;
  for (const FiguredModel& each : models) {
    const std::vector<const SweepPoint*> points = curve(each, kSync);
    if (points.size() < 3) continue;
    const SweepPoint* const most = *std::ranges::max_element(points, {}, moved);
    rises_and_falls = rises_and_falls && most != points.front() && most != points.back();
    outward = outward && std::ranges::all_of(points, [](const auto* at) { return at->bytes_out >= at->bytes_in; });
    const auto at = [&](const SweepPoint* point) {
      return fmt::format("{} with {:.1f} % in DRAM", format_bytes(moved(point)), 100 * each.swept.share(*point));
    };
    texts.push_back(
        fmt::format("{} {}, most {}, {}", each.swept.model, at(points.front()), at(most), at(points.back())));
  }
  if (texts.empty()) return;
  claims.push_back(
      {"Nothing moves with DRAM near zero, very much with a little, and less once DRAM holds almost all "
       "operands",
       "section 6.4, figure 10c", fmt::format("synchronous: {}", fmt::join(texts, "; ")), rises_and_falls});
  claims.push_back({"More is moved from DRAM to PMM than back", "section 6.4, figure 10c",
                    outward ? "at every point" : "not at every point", outward});
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
  claim_inception(models, claims);
  claim_least_dram(models, claims);
  claim_loss(models, claims);
  claim_static(models, claims);
  claim_vgg(models, claims);
  claim_operands(models, claims);
  claim_moves(models, claims);
  return claims;
}

}  // namespace sluice::autotm
