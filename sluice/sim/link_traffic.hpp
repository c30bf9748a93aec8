// What links carry at a moment, and how that slows them and compute: the one rule, for whoever runs a step in time.
//
// A link carries one transfer at a time: at full speed while the link back is idle, and at its shared speed while both
// are busy (latency stretches likewise: a link counts as busy from a transfer's begin to its end). While links carry data
// compute goes slower, by the time that every byte costs it (Link::interference): one link at 5 GB/s and 0.1 ns per byte
// leaves it half its speed, two such links a quarter.
//
// Starts and ends are noted as they come; share() then moves what they change, once for all that happen at a moment.
// Nothing is allocated but at construction. Not thread-safe.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::sim {

inline constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

// A transfer or an op. `end` holds while it goes at `speed`, a share of its own.
struct UnderWay {
  Seconds end = kNever;
  double speed = 1;

  void go_at(double new_speed, Seconds now) {
    if (new_speed == speed) return;
    end = now + (end - now) * speed / new_speed;
    speed = new_speed;
  }
};

class LinkTraffic {
 public:
  // Of links 0 to `links` - 1, all idle.
  LinkTraffic(const profile::CostModel& costs, std::size_t links) : costs_(&costs), links_(links) {
    for (std::size_t link = 0; link < links; ++link) {
      links_[link].shares_with = costs.shares_with(as_id<memory::LinkId>(link));
      links_[link].shared_speed = costs.shared_speed(as_id<memory::LinkId>(link));
    }
  }

  // On a link that is idle.
  void start(memory::LinkId link, const profile::Load& load, Seconds now) {
    State& state = links_[as_index(link)];
    state.busy = true;
    state.transfer = {.end = now + costs_->transfer_seconds(link, load), .speed = 1};
    state.interference = costs_->interference(link, load);
  }

  void finish(memory::LinkId link) {
    links_[as_index(link)].busy = false;
    links_[as_index(link)].transfer = {};
  }

  // Whoever shares with a link that has started or stopped goes on at another speed.
  void share(Seconds now) {
    for (State& state : links_) {
      if (!state.busy || !state.shares_with) continue;
      state.transfer.go_at(links_[as_index(*state.shares_with)].busy ? state.shared_speed : 1, now);
    }
  }

  bool is_busy(memory::LinkId link) const { return links_[as_index(link)].busy; }
  Seconds end(memory::LinkId link) const { return links_[as_index(link)].transfer.end; }  // kNever: it is idle

  // The link whose transfer ends first, the lowest of several; nothing where none is busy.
  std::optional<memory::LinkId> first_to_end() const {
    const auto first = std::ranges::min_element(links_, {}, [](const State& state) { return state.transfer.end; });
    if (first == links_.end() || !first->busy) return std::nullopt;
    return as_id<memory::LinkId>(first - links_.begin());
  }

  // kNever where none is busy.
  Seconds next_end() const {
    Seconds next = kNever;
    for (const State& state : links_) next = std::min(next, state.transfer.end);
    return next;
  }

  // Of every processor alike, as a share of its own.
  double compute_speed() const {
    double speed = 1;
    for (const State& state : links_) {
      if (state.busy) speed *= std::max(0.0, 1 - state.interference * state.transfer.speed);
    }
    return std::max(speed, profile::kLeastComputeSpeed);
  }

 private:
  struct State {
    bool busy = false;
    UnderWay transfer;
    double interference = 0;  // of the transfer: compute time lost in every second at full speed
    std::optional<memory::LinkId> shares_with = {};
    double shared_speed = 1;
  };

  const profile::CostModel* costs_;
  std::vector<State> links_;
};

}  // namespace sluice::sim
