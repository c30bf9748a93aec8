#include "sluice/planners/home/swarm.hpp"

#include <algorithm>
#include <atomic>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/planners/schedule/on_threads.hpp"

namespace sluice::planners {
namespace {

struct Particle {
  Policy now, best;
  PolicyCost cost, best_cost;
  std::int64_t evaluations = 0, skipped = 0;
};

// Each particle likes the three actions more or less, so that some keep little and others much. What cannot be made
// again is kept or swapped.
Policy drawn_policy(const std::vector<FeatureMap>& maps, std::uint64_t seed, std::uint64_t particle) {
  using enum FeatureMapAction;
  const auto draw = [&](std::uint64_t which) { return random_uniform(seed, particle, which); };
  const double keeps = draw(0), swaps = draw(1), makes = draw(2);
  Policy policy;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const double drawn = draw(3 + i) * (keeps + swaps + (maps[i].can_be_rematerialized ? makes : 0));
    policy.push_back(drawn < keeps ? kKeep : drawn < keeps + swaps ? kSwap : kRecompute);
  }
  return policy;
}

// Where memory is short hardly any policy that is drawn fits: one particle begins with what takes the least of it.
Policy all_swapped(std::size_t maps) { return Policy(maps, FeatureMapAction::kSwap); }

class Swarm {
 public:
  Swarm(const PolicyEvaluator& evaluator, const std::vector<FeatureMap>& maps, const SwarmOptions& options,
        const std::function<bool()>& stop)
      : evaluator_(evaluator), options_(options), stop_(stop), particles_(as_index(options.particles)) {
    for (std::size_t i = 0; i < particles_.size(); ++i) {
      particles_[i].now = i == 0 ? all_swapped(maps.size()) : drawn_policy(maps, options.seed, i);
    }
  }

  SwarmResult run(const std::function<void(double, const PolicyCost&)>& progress) {
    for (int iteration = 0; iteration < options_.iterations && !stopped_; ++iteration) {
      for_each_particle([&](Particle& each, PolicyEvaluator::Scratch& scratch) { evaluate(each, scratch); });
      ++since_better_;
      const Particle& leader = *std::ranges::min_element(
          particles_, [](const PolicyCost& a, const PolicyCost& b) { return a < b; }, &Particle::cost);
      if (iteration == 0 || leader.cost < result_.cost) {
        result_.best = leader.now;
        result_.cost = leader.cost;
        since_better_ = 0;
      }
      record();
      if (progress) progress(static_cast<double>(iteration + 1) / options_.iterations, result_.cost);
      if (options_.patience > 0 && since_better_ >= options_.patience) break;
      const Policy last_best = leader.now;
      std::atomic<bool> changed = false;
      for_each_particle([&](Particle& each, PolicyEvaluator::Scratch& scratch) {
        const Policy before = each.now;
        update(each, last_best, scratch);
        if (each.now != before) changed = true;
      });
      if (!changed) break;
    }
    for (const Particle& each : particles_) {
      result_.evaluations += each.evaluations;
      result_.skipped += each.skipped;
    }
    result_.stopped = stopped_;
    return std::move(result_);
  }

 private:
  // What comes of a particle does not depend on which thread takes it.
  template <typename Work>
  void for_each_particle(const Work& work) {
    const auto make_work = [&] {
      return [&, scratch = PolicyEvaluator::Scratch()](std::size_t i) mutable { work(particles_[i], scratch); };
    };
    if (for_each_on_threads(particles_.size(), options_.threads, stop_, make_work)) stopped_ = true;
  }

  PolicyCost cost_of(Particle& particle, PolicyEvaluator::Scratch& scratch) const {
    ++particle.evaluations;
    return evaluator_.evaluate(particle.now, scratch);
  }

  void evaluate(Particle& particle, PolicyEvaluator::Scratch& scratch) const {
    particle.cost = cost_of(particle, scratch);
    if (!particle.best.empty() && !(particle.cost < particle.best_cost)) return;
    particle.best = particle.now;
    particle.best_cost = particle.cost;
  }

  // Algorithm 3. Where the particle has one of the two actions, and it is known what it costs as it is, only the other one
  // is evaluated.
  void update(Particle& particle, const Policy& last_best, PolicyEvaluator::Scratch& scratch) const {
    bool known = true;  // particle.cost is that of particle.now
    const auto with = [&](std::size_t j, FeatureMapAction action) {
      if (known && particle.now[j] == action) {
        ++particle.skipped;
        return particle.cost;
      }
      particle.now[j] = action;
      return cost_of(particle, scratch);
    };
    for (std::size_t j = 0; j < particle.now.size(); ++j) {
      if (last_best[j] == particle.best[j]) {
        known = known && particle.now[j] == last_best[j];
        particle.now[j] = last_best[j];
        particle.skipped += 2;
        continue;
      }
      // The one that it has goes first, while it is known.
      const bool has_last = particle.now[j] == last_best[j];
      const FeatureMapAction first = has_last ? last_best[j] : particle.best[j];
      const FeatureMapAction second = has_last ? particle.best[j] : last_best[j];
      const PolicyCost by_first = with(j, first), by_second = with(j, second);
      const bool takes_last = has_last ? by_first < by_second : by_second < by_first;
      particle.now[j] = takes_last ? last_best[j] : particle.best[j];
      particle.cost = takes_last == has_last ? by_first : by_second;
      known = true;
    }
  }

  void record() {
    std::vector<Seconds> steps;
    for (const Particle& each : particles_) {
      if (each.cost.feasible) steps.push_back(each.cost.seconds);
    }
    result_.iterations.push_back(round_of(steps));
  }

  const PolicyEvaluator& evaluator_;
  SwarmOptions options_;
  const std::function<bool()>& stop_;
  std::vector<Particle> particles_;
  SwarmResult result_;
  int since_better_ = 0;
  bool stopped_ = false;
};

}  // namespace

SwarmResult search_by_swarm(const PolicyEvaluator& evaluator, const std::vector<FeatureMap>& maps,
                            const SwarmOptions& options, const std::function<bool()>& stop,
                            const std::function<void(double, const PolicyCost&)>& progress) {
  return Swarm(evaluator, maps, options, stop).run(progress);
}

}  // namespace sluice::planners
