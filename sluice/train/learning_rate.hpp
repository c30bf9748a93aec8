// Learning-rate schedules, as the user writes them on the command line:
//
//   constant                     the base rate throughout
//   step:30,60,80                times 0.1 from each of these steps on
//   step:30,60,80:0.5            times 0.5 instead
//   cosine:100                   half a cosine from the base rate at step 0 to zero at step 100, zero after
//   warmup:5+cosine:100          any of the above, its rate multiplied by (step + 1) / 5 during the first 5 steps
//
// The rate is a function of the step alone, so that a resumed run continues where it stopped. It is computed in double,
// so every run of the same machine sees the same bits.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"

namespace sluice::train {

struct LearningRateSchedule {
  enum class Decay { kConstant, kStep, kCosine } decay = Decay::kConstant;
  std::int64_t warmup_steps = 0;
  std::vector<std::int64_t> milestones;  // kStep: ascending
  double factor = 0.1;                   // kStep
  std::int64_t total_steps = 0;          // kCosine

  double rate(double base, std::int64_t step) const;
};

Result<LearningRateSchedule> parse_learning_rate_schedule(std::string_view text);

}  // namespace sluice::train
