#include "sluice/reproduce/files/verdict.hpp"

#include <cmath>

namespace sluice {

Verdict verdict_of(double ours, const Published& published, Better better) {
  const bool above = ours > published.high + kVerdictTolerance * std::abs(published.high);
  const bool below = ours < published.low - kVerdictTolerance * std::abs(published.low);
  if (better == Better::kNeither) return above || below ? Verdict::kDiffers : Verdict::kAgrees;
  if (!above && !below) return Verdict::kMatches;
  return above == (better == Better::kHigher) ? Verdict::kAhead : Verdict::kBehind;
}

std::string_view to_string(Better better) {
  switch (better) {
    case Better::kHigher:
      return "higher";
    case Better::kLower:
      return "lower";
    case Better::kNeither:
      return "neither";
  }
  return "";
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAhead:
      return "ahead";
    case Verdict::kMatches:
      return "matches";
    case Verdict::kBehind:
      return "behind";
    case Verdict::kAgrees:
      return "agrees";
    case Verdict::kDiffers:
      return "differs";
  }
  return "";
}

}  // namespace sluice
