// What AutoTM's text says of its figures 1, 7 and 10, beside our graphs planned on its kernels' times. Only numbers and
// trends that the text gives: the curves themselves are pictures.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/papers/published_profile.hpp"
#include "sluice/experiment/sweep_result.hpp"

namespace sluice::autotm {

// PMM to DRAM, as in section 5.3: 8:1 is a ninth of what everything takes in DRAM.
struct Ratio {
  int pmm = 0;
  int dram = 0;
  double share() const { return static_cast<double>(dram) / (pmm + dram); }
  std::string text() const { return std::to_string(pmm) + ":" + std::to_string(dram); }
  bool operator==(const Ratio&) const = default;
};

// kBadInput for anything but "A:B" with A from 0 and B from 1.
Result<Ratio> parse_ratio(std::string_view text);

struct FiguredModel {
  SweptModel swept;           // points: by ratio, then by planner
  std::vector<Ratio> ratios;  // rising budgets
  std::map<OpKind, Coverage> coverage;
  double only_pmm = 0;             // slowdown of every operand in Optane
  double largest_convolution = 0;  // its operands, a share of what everything takes

  // nullptr where it was not asked for or is infeasible.
  const SweepPoint* at(std::string_view planner, const Ratio& ratio) const;
};

struct FigureClaim {
  std::string_view published;
  std::string_view source;
  std::string here;
  std::optional<bool> agrees;  // nothing where the text is too vague, or batch 16 another question
};

// Those that the models, planners and ratios at hand can be held against.
std::vector<FigureClaim> figure_claims(std::span<const FiguredModel> models);

// Of performance (1 / step time), by the geometric mean of slowdowns over `ratios` and models: 0.277 is 27.7 %. Nothing
// where a point is missing.
std::optional<double> performance_lost(std::span<const FiguredModel> models, std::string_view planner,
                                       std::span<const Ratio> ratios);

}  // namespace sluice::autotm
