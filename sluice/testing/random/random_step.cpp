#include "sluice/testing/random/random_step.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::testing {

void add_random_processors(std::uint64_t seed, memory::Machine& machine) {
  SeededRandom random(seed);
  machine.processors = {{.name = "device"}, {.name = "host"}};
  if (random.chance(0.3)) machine.processors.push_back({.name = "other"});
  machine.threads = machine.processors.front().threads;
}

graph::Rescheduled random_step(std::uint64_t seed, const graph::Graph& graph, const memory::Machine& machine,
                               const std::vector<graph::OpIndex>& schedule) {
  SeededRandom random(seed);
  std::vector<graph::OpIndex> order = schedule;
  if (order.empty()) {
    order.resize(graph.ops().size());
    std::iota(order.begin(), order.end(), 0);
  }
  graph::Rescheduled step = graph::reschedule(graph, order).value();
  std::vector<graph::OpChoice> choices;
  const double on_main = random.pick(std::vector<double>{0.2, 0.5, 0.9});
  std::map<graph::OpIndex, graph::OpChoice> by_op;  // an op runs in one way, however often
  for (std::size_t slot = 0; slot < step.op_of.size(); ++slot) {
    const graph::Op& op = step.graph.op(as_id<graph::OpIndex>(slot));
    const auto implementations = static_cast<std::int32_t>(std::max<std::size_t>(op.implementations.size(), 1));
    const auto processors = as_id<ProcessorId>(machine.processor_count());
    const graph::OpChoice drawn{random.between(0, implementations - 1),
                                random.chance(on_main) ? kMainProcessor : random.between(0, processors - 1)};
    choices.push_back(by_op.try_emplace(step.op_of[slot], drawn).first->second);
  }
  graph::choose(step, choices);
  return step;
}

plan::Plan random_plan_of_step(std::uint64_t seed, const graph::Graph& graph, const memory::Machine& machine,
                               const graph::Rescheduled& step) {
  plan::Plan plan = random_plan(seed, step.graph, machine);
  plan.graph_fingerprint = graph.fingerprint();
  if (!graph::is_own_order(step.op_of, graph.op_count())) plan.schedule = step.op_of;
  for (std::size_t slot = 0; slot < step.choices.size(); ++slot) {
    plan.ops[slot].implementation = step.choices[slot].implementation;
  }
  return plan;
}

}  // namespace sluice::testing
