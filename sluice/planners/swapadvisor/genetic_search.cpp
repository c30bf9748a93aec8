#include "sluice/planners/swapadvisor/genetic_search.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/schedule/on_threads.hpp"

namespace sluice::planners {
namespace {

constexpr std::ptrdiff_t kElite = 2;
constexpr std::size_t kTournament = 3;
constexpr double kCrossed = 0.8;  // of the children; the others are one parent's
constexpr double kMutatedOps = 2, kMutatedSizes = 0.5;
constexpr std::size_t kMostBest = 5;
constexpr double kSame = 1e-9;  // steps that differ by less than this share are one

Seconds cost_of(const SwapIndividual& individual) {
  return individual.seconds.value_or(std::numeric_limits<Seconds>::infinity());
}

class Breeding {
 public:
  Breeding(const SwapDecoder& decoder, const OpOrders& orders, std::size_t op_count, Bytes capacity,
           const GeneticOptions& options, const std::function<bool()>& stop)
      : decoder_(decoder),
        orders_(orders),
        capacity_(capacity),
        options_(options),
        stop_(stop),
        population_(as_index(options.population)) {
    const std::size_t sizes = decoder.size_count();
    for (std::size_t i = 0; i < population_.size(); ++i) {
      GeneDraws draws(options_.seed, named_++);
      population_[i].genes = i < 2 ? genes_of_the_graph(op_count, sizes) : drawn_genes(op_count, sizes, draws);
    }
    if (population_.size() > 1) std::ranges::fill(population_[1].genes.begins, 0);
  }

  GeneticResult run(const std::function<void(double, const std::optional<Seconds>&)>& progress) {
    std::optional<GeneticEnd> end;
    while (!end) {
      evaluate();
      record();
      end = ended();
      if (progress) progress(end ? 1 : share_done(), population_.front().seconds);
      if (!end) breed();
    }
    result_.end = *end;
    take_best();
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  Seconds elapsed() const { return std::chrono::duration<Seconds>(Clock::now() - begin_).count(); }

  double share_done() const {
    const double bred = static_cast<double>(result_.generations.size()) / options_.generations;
    return std::min(1.0, std::max(bred, elapsed() / options_.seconds));
  }

  // The best first.
  void evaluate() {
    const auto stop = [&] {
      stopped_ = stopped_ || (stop_ && stop_());
      return stopped_ || elapsed() > options_.seconds;
    };
    const auto work = [&](std::size_t i) { evaluate(population_[i]); };
    interrupted_ = for_each_on_threads(population_.size(), options_.threads, stop, [&] { return work; });
    std::ranges::stable_sort(population_, {}, cost_of);
  }

  void evaluate(SwapIndividual& individual) const {
    if (individual.evaluated) return;
    individual.order = orders_.by_priority(individual.genes.priorities);
    const auto decoded = decoder_.decode(individual.order, individual.genes.begins, capacity_);
    if (decoded) individual.seconds = decoded->seconds;
    individual.evaluated = true;
  }

  void record() {
    std::vector<Seconds> steps;
    for (const SwapIndividual& each : population_) {
      if (each.seconds) steps.push_back(*each.seconds);
    }
    result_.generations.push_back(round_of(steps));
    result_.evaluations += std::ranges::count(population_, true, &SwapIndividual::evaluated) - carried_;
    const bool better = cost_of(population_.front()) < (1 - kSame) * best_;
    since_better_ = better ? 0 : since_better_ + 1;
    if (better) best_ = cost_of(population_.front());
  }

  std::optional<GeneticEnd> ended() const {
    if (interrupted_) return stopped_ ? GeneticEnd::kStopped : GeneticEnd::kTime;
    if (best_ <= (1 + kSame) * decoder_.compute_seconds()) return GeneticEnd::kNothingWaits;
    if (std::ssize(result_.generations) >= options_.generations) return GeneticEnd::kGenerations;
    if (options_.patience > 0 && since_better_ >= options_.patience) return GeneticEnd::kNothingBetter;
    return std::nullopt;
  }

  void breed() {
    carried_ = std::min(kElite, std::ssize(population_));
    std::vector<SwapIndividual> next(population_.begin(), population_.begin() + carried_);
    while (next.size() < population_.size()) next.push_back(child());
    population_ = std::move(next);
  }

  SwapIndividual child() {
    GeneDraws draws(options_.seed, named_++);
    const SwapIndividual& first = drawn_parent(draws);
    const SwapIndividual& second = drawn_parent(draws);
    SwapIndividual result;
    result.genes = draws.happens(kCrossed) ? crossed_genes(first.genes, first.order, second.genes, second.order, draws)
                                           : first.genes;
    mutate_genes(result.genes, kMutatedOps, kMutatedSizes, draws);
    return result;
  }

  const SwapIndividual& drawn_parent(GeneDraws& draws) const {
    std::size_t best = population_.size();
    for (std::size_t i = 0; i < kTournament; ++i) best = std::min(best, draws.below(population_.size()));
    return population_[best];  // they are in order
  }

  void take_best() {
    for (SwapIndividual& each : population_) {
      if (!each.seconds || result_.best.size() >= kMostBest) break;
      const bool same = !result_.best.empty() && *each.seconds <= (1 + kSame) * *result_.best.back().seconds;
      if (!same) result_.best.push_back(std::move(each));
    }
  }

  const SwapDecoder& decoder_;
  const OpOrders& orders_;
  Bytes capacity_;
  GeneticOptions options_;
  const std::function<bool()>& stop_;
  Clock::time_point begin_ = Clock::now();
  std::vector<SwapIndividual> population_;
  GeneticResult result_;
  std::uint64_t named_ = 0;     // individuals so far
  std::ptrdiff_t carried_ = 0;  // of the generation before, evaluated already
  Seconds best_ = std::numeric_limits<Seconds>::infinity();
  int since_better_ = 0;
  bool interrupted_ = false, stopped_ = false;
};

}  // namespace

GeneticResult breed_swaps(const SwapDecoder& decoder, const OpOrders& orders, std::size_t op_count, Bytes capacity,
                          const GeneticOptions& options, const std::function<bool()>& stop,
                          const std::function<void(double done, const std::optional<Seconds>& best)>& progress) {
  return Breeding(decoder, orders, op_count, capacity, options, stop).run(progress);
}

}  // namespace sluice::planners
