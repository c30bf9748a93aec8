#include "sluice/train/learning_rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sluice/base/parse.hpp"

namespace sluice::train {
namespace {

// Splits off what stands before the first `separator`; the rest stays in `text`.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return head;
}

Error bad_schedule(std::string_view text, std::string_view why) {
  return Error{ErrorCode::kBadInput,
               fmt::format("learning-rate schedule '{}': {}; write constant, step:30,60[:0.1] or cosine:100, "
                           "with warmup:5+ before it if wanted",
                           text, why)};
}

Status parse_step_decay(std::string_view whole, std::string_view body, LearningRateSchedule& schedule) {
  std::string_view list = take_until(body, ':');
  while (!list.empty()) {
    const Result<std::int64_t> milestone = parse_integer(take_until(list, ','), 1);
    if (!milestone.ok()) return bad_schedule(whole, "a milestone must be a step number above 0");
    schedule.milestones.push_back(*milestone);
  }
  if (schedule.milestones.empty()) return bad_schedule(whole, "no milestones");
  if (!std::is_sorted(schedule.milestones.begin(), schedule.milestones.end())) {
    return bad_schedule(whole, "milestones must ascend");
  }
  if (!body.empty()) {
    const Result<double> factor = parse_number(body);
    if (!factor.ok() || *factor <= 0) return bad_schedule(whole, "the factor must be a number above 0");
    schedule.factor = *factor;
  }
  return {};
}

}  // namespace

double LearningRateSchedule::rate(double base, std::int64_t step) const {
  double scale = 1;
  if (decay == Decay::kStep) {
    const auto passed = std::upper_bound(milestones.begin(), milestones.end(), step) - milestones.begin();
    scale = std::pow(factor, static_cast<double>(passed));
  } else if (decay == Decay::kCosine) {
    const double done = static_cast<double>(std::min(step, total_steps)) / static_cast<double>(total_steps);
    scale = 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  if (step < warmup_steps) scale *= static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  return base * scale;
}

Result<LearningRateSchedule> parse_learning_rate_schedule(std::string_view text) {
  LearningRateSchedule schedule;
  std::string_view rest = text;
  if (rest.starts_with("warmup:")) {
    rest.remove_prefix(std::string_view("warmup:").size());
    const Result<std::int64_t> steps = parse_integer(take_until(rest, '+'), 1);
    if (!steps.ok()) return bad_schedule(text, "warm-up must last a whole number of steps above 0");
    schedule.warmup_steps = *steps;
  }
  const std::string_view name = take_until(rest, ':');
  if (name == "constant" && rest.empty()) return schedule;
  if (name == "step") {
    schedule.decay = LearningRateSchedule::Decay::kStep;
    SLUICE_RETURN_IF_ERROR(parse_step_decay(text, rest, schedule));
    return schedule;
  }
  if (name == "cosine") {
    schedule.decay = LearningRateSchedule::Decay::kCosine;
    const Result<std::int64_t> total = parse_integer(rest, 1);
    if (!total.ok()) return bad_schedule(text, "cosine needs the number of steps it lasts");
    schedule.total_steps = *total;
    return schedule;
  }
  return bad_schedule(text, "not a known schedule");
}

}  // namespace sluice::train
