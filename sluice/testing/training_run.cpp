#include "sluice/testing/training_run.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sluice/testing/wave_input.hpp"

namespace sluice::testing {
namespace {

constexpr double kSmallest = 1e-5;  // of an element

// The distance of two vectors as a share of the second's length; NaN where there is one.
double distance(const std::vector<float>& actual, const std::vector<float>& expected) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(double{actual[i]} - expected[i], 2);
    length += std::pow(std::max<double>(std::abs(expected[i]), kSmallest), 2);
  }
  return std::sqrt(difference / length);
}

}  // namespace

std::unique_ptr<kernels::CompiledGraph> compiled(const std::unique_ptr<kernels::Backend>& backend,
                                                 const graph::Graph& graph, int threads) {
  auto result = backend->compile(graph, threads);
  SLUICE_CHECK(result.ok(), result.error().message);
  return std::move(*result);
}

NamedValues trained(kernels::CompiledGraph& graph, const TrainingRun& run) {
  GraphRunner runner(graph);
  runner.initialise(run.seed);
  WaveInput input(graph.graph());
  NamedValues values;
  const auto keep = [&](const std::string& prefix, const auto& wanted) {
    for (graph::TensorId id = 0; id < graph.graph().tensor_count(); ++id) {
      const graph::Tensor& tensor = graph.graph().tensor(id);
      if (wanted(tensor.role)) values[prefix + tensor.name] = runner.plain(id);
    }
  };
  for (int step = 0; step < run.steps; ++step) {
    runner.run_step({.step = step, .learning_rate = run.learning_rate, .input = &input, .seed = run.seed});
    keep(fmt::format("step {}: ", step), [](graph::Role role) { return role == graph::Role::kOutput; });
  }
  keep("", graph::is_persistent);
  return values;
}

std::string farthest(const NamedValues& actual, const NamedValues& expected, double tolerance) {
  std::string worst;
  double most = tolerance;
  for (const auto& [name, values] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end() || found->second.size() != values.size()) return name + " is missing or of another size";
    const double share = distance(found->second, values);
    if (share <= most) continue;
    if (!std::isnan(share)) most = share;
    worst = fmt::format("{} is {:.2e} of its length away", name, share);
    if (std::isnan(share)) return worst;
  }
  return worst;
}

}  // namespace sluice::testing
