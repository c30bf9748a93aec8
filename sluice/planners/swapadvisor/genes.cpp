#include "sluice/planners/swapadvisor/genes.hpp"

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"

namespace sluice::planners {
namespace {

// How far ops are drawn from their places in the graph, and moved by mutation, in shares of the step.
constexpr double kDrawnFar[] = {0, 0.01, 0.1, 1};
constexpr double kMovedFar[] = {0.01, 0.1, 1};

}  // namespace

double GeneDraws::uniform() { return static_cast<double>(random_uniform(seed_, individual_, drawn_++)); }
double GeneDraws::normal() { return static_cast<double>(random_normal(seed_, individual_, drawn_++)); }
std::size_t GeneDraws::below(std::size_t count) { return random_bits(seed_, individual_, drawn_++) % count; }

SwapGenes genes_of_the_graph(std::size_t ops, std::size_t sizes) {
  SwapGenes genes{.priorities = std::vector<double>(ops), .begins = std::vector<char>(sizes, 1)};
  std::iota(genes.priorities.begin(), genes.priorities.end(), 0.0);
  return genes;
}

SwapGenes drawn_genes(std::size_t ops, std::size_t sizes, GeneDraws& draws) {
  SwapGenes genes = genes_of_the_graph(ops, sizes);
  const double far = kDrawnFar[draws.below(std::size(kDrawnFar))] * static_cast<double>(ops);
  if (far > 0) {
    for (double& priority : genes.priorities) priority += far * draws.normal();
  }
  const double share = draws.uniform();
  for (char& begins : genes.begins) begins = draws.happens(share) ? 1 : 0;
  return genes;
}

SwapGenes crossed_genes(const SwapGenes& first, const std::vector<graph::OpIndex>& first_order, const SwapGenes& second,
                        const std::vector<graph::OpIndex>& second_order, GeneDraws& draws) {
  SwapGenes child = second;
  double place = 0;
  std::vector<bool> placed(first_order.size(), false);
  const std::size_t cut = draws.below(first_order.size() + 1);
  for (std::size_t i = 0; i < cut; ++i) {
    child.priorities[as_index(first_order[i])] = place++;
    placed[as_index(first_order[i])] = true;
  }
  for (const graph::OpIndex op : second_order) {
    if (!placed[as_index(op)]) child.priorities[as_index(op)] = place++;
  }
  const auto sizes = static_cast<std::ptrdiff_t>(draws.below(first.begins.size() + 1));
  std::copy_n(first.begins.begin(), sizes, child.begins.begin());
  return child;
}

void mutate_genes(SwapGenes& genes, double ops, double sizes, GeneDraws& draws) {
  const auto count = static_cast<double>(genes.priorities.size());
  const double far = kMovedFar[draws.below(std::size(kMovedFar))] * count;
  for (double& priority : genes.priorities) {
    if (draws.happens(ops / count)) priority += far * draws.normal();
  }
  for (char& begins : genes.begins) {
    if (draws.happens(sizes / static_cast<double>(genes.begins.size()))) begins = begins != 0 ? 0 : 1;
  }
}

}  // namespace sluice::planners
