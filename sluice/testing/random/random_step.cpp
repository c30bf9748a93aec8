#include "sluice/testing/random/random_step.hpp"

#include <algorithm>
#include <numeric>

#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::testing {

void add_random_processors(std::uint64_t seed, Machine& machine) {
  SeededRandom random(seed);
  machine.processors = {{.name = "device"}, {.name = "host"}};
  if (random.chance(0.3)) machine.processors.push_back({.name = "other"});
  machine.threads = machine.processors.front().threads;
}

Rescheduled random_step(std::uint64_t seed, const Graph& graph, const Machine& machine,
                        const std::vector<OpIndex>& schedule) {
  SeededRandom random(seed);
  std::vector<OpIndex> order = schedule;
  if (order.empty()) {
    order.resize(graph.ops().size());
    std::iota(order.begin(), order.end(), 0);
  }
  Rescheduled step = reschedule(graph, order).value();
  std::vector<OpChoice> choices;
  const double on_main = random.pick(std::vector<double>{0.2, 0.5, 0.9});
  for (const Op& op : step.graph.ops()) {
    const auto implementations = static_cast<std::int32_t>(std::max<std::size_t>(op.implementations.size(), 1));
    const auto processors = static_cast<ProcessorId>(machine.processor_count());
    choices.push_back({random.between(0, implementations - 1),
                       random.chance(on_main) ? kMainProcessor : random.between(0, processors - 1)});
  }
  choose(step, choices);
  return step;
}

Plan random_plan_of_step(std::uint64_t seed, const Graph& graph, const Machine& machine, const Rescheduled& step) {
  Plan plan = random_plan(seed, step.graph, machine);
  plan.graph_fingerprint = graph.fingerprint();
  if (!is_own_order(step.op_of, graph.op_count())) plan.schedule = step.op_of;
  for (std::size_t slot = 0; slot < step.choices.size(); ++slot) {
    plan.ops[slot].implementation = step.choices[slot].implementation;
  }
  return plan;
}

}  // namespace sluice::testing
