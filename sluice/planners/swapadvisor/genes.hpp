// What SwapAdvisor's genetic algorithm breeds: an order of the ops, and which sizes of tensors take each other's
// places. Everything else about a plan follows from these two (swap_decoder.hpp).
//
//   order      a priority for each op, made an order by list scheduling (op_order.hpp)
//   classes    the distinct sizes of tensors, ascending; each begins a class or belongs to the one below it
//
//              sizes    64 KiB   256 KiB   1 MiB   4 MiB
//              begins   1        0         1       1         classes: {64 KiB, 256 KiB} {1 MiB} {4 MiB}
//
// Crossing is by one point in each part: of the order, the first ops of one parent, then the others as in the other
// parent. Mutation moves a few ops and begins or ends a few classes.
//
// All of it draws from counters (base/random.hpp): the same seed and name give the same genes whatever the threads.
#pragma once

#include <cstdint>
#include <vector>

#include "sluice/planners/swapadvisor/op_order.hpp"

namespace sluice::planners {

// Numbers of one individual.
class GeneDraws {
 public:
  GeneDraws(std::uint64_t seed, std::uint64_t individual) : seed_(seed), individual_(individual) {}

  double uniform();                      // in [0, 1)
  double normal();                       // of mean 0 and deviation 1
  std::size_t below(std::size_t count);  // one of [0, count), which is not empty
  bool happens(double probability) { return uniform() < probability; }

 private:
  std::uint64_t seed_, individual_;
  std::uint64_t drawn_ = 0;
};

struct SwapGenes {
  std::vector<double> priorities;  // by op
  std::vector<char> begins;        // by distinct size: whether it begins a class; the first does whatever this says
  bool operator==(const SwapGenes&) const = default;
};

// The graph's own order, and a class for each size.
SwapGenes genes_of_the_graph(std::size_t ops, std::size_t sizes);

// Between that and any order at all: how far is drawn, too.
SwapGenes drawn_genes(std::size_t ops, std::size_t sizes, GeneDraws& draws);

// The orders are those of the parents.
SwapGenes crossed_genes(const SwapGenes& first, const std::vector<graph::OpIndex>& first_order, const SwapGenes& second,
                        const std::vector<graph::OpIndex>& second_order, GeneDraws& draws);

// Changes `ops` ops and `sizes` sizes, on average.
void mutate_genes(SwapGenes& genes, double ops, double sizes, GeneDraws& draws);

}  // namespace sluice::planners
