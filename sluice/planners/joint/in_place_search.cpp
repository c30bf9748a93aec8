#include "sluice/planners/joint/in_place_search.hpp"

namespace sluice::planners {
namespace {

constexpr double kGains = 1 - 1e-6;  // of the seconds so far

}  // namespace

void InPlaceSearch::begin_at(std::vector<InPlaceChoice> choices) {
  std::set<PrefetchKey> slow;
  for (const InPlaceChoice& each : choices) {
    if (each.slow) slow.insert(each.key);
  }
  const Seconds seconds = seconds_of_(slow);
  if (!choices_.empty() && seconds >= seconds_) return;
  choices_ = std::move(choices);
  slow_ = std::move(slow);
  seconds_ = seconds;
}

void InPlaceSearch::improve(int most, const std::function<bool()>& stopped) {
  std::size_t since_gain = 0;
  for (std::size_t i = 0; most > 0 && since_gain < choices_.size(); i = (i + 1) % choices_.size()) {
    if (stopped()) return;
    --most;
    ++since_gain;
    std::set<PrefetchKey> other = slow_;
    if (!other.insert(choices_[i].key).second) other.erase(choices_[i].key);
    const Seconds seconds = seconds_of_(other);
    if (seconds >= kGains * seconds_) continue;
    seconds_ = seconds;
    slow_ = std::move(other);
    since_gain = 0;
  }
}

}  // namespace sluice::planners
