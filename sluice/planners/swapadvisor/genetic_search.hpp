// SwapAdvisor's genetic algorithm: genes (genes.hpp) whose plans take less time (swap_decoder.hpp) are bred.
//
//   the graph's own order, and drawn ones ─► evaluate ─► keep the two best
//                                               ▲           │ others: two parents, each the best of three drawn;
//                                               └───────────┘ crossed, most of them; mutated
//
// It ends after so many generations, when none has found anything better for a while, when its time is up, or when
// nothing is waited for any more: then no order takes less.
//
// Reproducible, unless it ends by time: what becomes of an individual depends on the seed and its number alone,
// whatever the threads. Cost: population x generations evaluations at most, milliseconds each.
#pragma once

#include <functional>
#include <optional>

#include "sluice/planners/search_rounds.hpp"
#include "sluice/planners/swapadvisor/genes.hpp"
#include "sluice/planners/swapadvisor/swap_decoder.hpp"

namespace sluice::planners {

struct GeneticOptions {
  int population = 40;
  int generations = 100;
  int patience = 20;  // generations without a better one after which it ends; 0: all are bred
  Seconds seconds = 60;
  int threads = 1;
  std::uint64_t seed = 0;
};

struct SwapIndividual {
  SwapGenes genes;
  std::vector<graph::OpIndex> order;
  std::optional<Seconds> seconds = {};  // of its step; nothing where some op lacks room
  bool evaluated = false;
};

enum class GeneticEnd { kGenerations, kNothingBetter, kNothingWaits, kTime, kStopped };

struct GeneticResult {
  std::vector<SwapIndividual> best;  // a few with different times, the best first
  std::vector<SearchRound> generations;
  std::int64_t evaluations = 0;
  GeneticEnd end = GeneticEnd::kGenerations;
};

// `stop`: asked on the calling thread between evaluations; the best so far are the answer then. `progress`: how much is
// done, from 0 to 1, and the best.
GeneticResult breed_swaps(const SwapDecoder& decoder, const OpOrders& orders, std::size_t op_count, Bytes capacity,
                          const GeneticOptions& options, const std::function<bool()>& stop,
                          const std::function<void(double done, const std::optional<Seconds>& best)>& progress);

}  // namespace sluice::planners
