// How our figure stands to the published one, computed and never written by hand. Within a tenth of what is published
// they match. A published range is met inside it and within a tenth of its ends.
#pragma once

#include <string_view>

namespace sluice {

enum class Better { kHigher, kLower, kNeither };  // kNeither: an observation to agree with
enum class Verdict { kAhead, kMatches, kBehind, kAgrees, kDiffers };

struct Published {
  double low = 0, high = 0;  // the same where one number is published
};

inline constexpr double kVerdictTolerance = 0.1;

Verdict verdict_of(double ours, const Published& published, Better better);

std::string_view to_string(Better better);
std::string_view to_string(Verdict verdict);

}  // namespace sluice
