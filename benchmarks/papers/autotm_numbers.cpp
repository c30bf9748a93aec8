// What AutoTM's published kernel times say, as numbers; benchmarks/autotm_tables.py makes tables of them.
//
//   autotm_numbers kernels FOLDER FILE.json
//   autotm_numbers figures FOLDER FILE.json [--models resnet50,vgg19] [--planners ...] [--ratios 8:1,4:1]
//
// FOLDER holds fuzz_kernels.csv and fuzz_times.csv (autotm_data.hpp). `kernels`: the emulation's rule, fitted on the kernels
// with even numbers, for every placement of the others beside its measured time. `figures`: our graphs planned on these
// times, by ratio of PMM to DRAM, without slices and with everything kept that the backward pass reads, as nGraph does it;
// FILE.json is written anew after every model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "benchmarks/papers/published_profile.hpp"
#include "sluice/base/as_index.hpp"
#include "sluice/base/progress/progress.hpp"
#include "sluice/experiment/sweep.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/rewrite/fold.hpp"
#include "sluice/report/describe_graph.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/sweep/sweep_json.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::benchmarks::autotm {
namespace {

using nlohmann::json;

constexpr std::int64_t kBatch = 16;  // of the published kernels

struct NumbersArguments {
  std::string folder, json;
  std::vector<std::string> models{"resnet50", "vgg19", "inception_v4"};
  std::vector<std::string> planners{"first-touch", "autotm-static", "autotm-sync", "sentinel", "joint"};
  std::vector<std::string> ratios{"64:1", "32:1", "16:1", "8:1", "4:1", "2:1", "1:1", "1:2", "1:4"};
};

json fit_json(const Fit& fit) { return {{"usable_caches", fit.usable_caches}, {"seconds_per_output", fit.per_output}}; }

json machine_json(const memory::Machine& machine) {
  const memory::Tier& optane = machine.tier(memory::kFastTier + 1);
  return {{"cpu", machine.cpu},
          {"cache_bytes", machine.cache_bytes},
          {"dram_bandwidth", machine.tier(memory::kFastTier).read_bandwidth},
          {"read_bandwidth", optane.read_bandwidth},
          {"write_bandwidth", optane.write_bandwidth},
          {"granule", optane.granule},
          {"latency_seconds", optane.latency},
          {"to_dram_bandwidth", machine.links.front().bandwidth},
          {"to_optane_bandwidth", machine.links.back().bandwidth}};
}

// Placements: the one with everything in DRAM first, the one with the most in Optane last.
json kernel_json(const memory::Machine& machine, const Fit& fit, const KernelKind& kind, const Kernel& kernel) {
  json measured = json::array(), predicted = json::array();
  for (const Placement& each : kernel.placements) {
    measured.push_back(each.seconds);
    predicted.push_back(predict(machine, fit, kernel, each));
  }
  const Bytes largest = kernel.outputs.empty() ? 0 : *std::ranges::max_element(kernel.outputs);
  return {{"kind", kind.name},
          {"in_bar", kind.in_bar},
          {"largest_output_bytes", largest},
          {"measured_seconds", measured},
          {"predicted_seconds", predicted}};
}

Status write_kernels(const NumbersArguments& arguments) {
  SLUICE_ASSIGN(const std::vector<Kernel> kernels, read_kernels(arguments.folder));
  const memory::Machine machine = autotm_machine();
  const std::vector<Kernel> fitted = half_of(kernels, true);
  const Fit fit = fit_to(machine, fitted);
  json document{{"machine", machine_json(machine)}, {"fit", fit_json(fit)}, {"kernels_fitted", fitted.size()}};
  document["kernels"] = json::array();
  for (const KernelKind& kind : by_kind(half_of(kernels, false))) {
    for (const Kernel& kernel : kind.kernels) document["kernels"].push_back(kernel_json(machine, fit, kind, kernel));
  }
  return report::write_json_file(arguments.json, document);
}

// 8:1 is a ninth of what everything takes in DRAM, as in AutoTM's section 5.3.
Result<double> share_of(const std::string& ratio) {
  int pmm = 0, dram = 0, end = 0;
  const bool read = std::sscanf(ratio.c_str(), "%d:%d%n", &pmm, &dram, &end) == 2;
  if (!read || as_index(end) != ratio.size() || pmm < 0 || dram < 1) {
    return bad_input(fmt::format("'{}' is no ratio of PMM to DRAM; write one such as 8:1", ratio));
  }
  return static_cast<double>(dram) / (pmm + dram);
}

Result<train::Workload> whole_ops(const std::string& model, const memory::Machine& machine) {
  train::Workload workload;
  workload.options.model = model;
  workload.options.shape.batch = kBatch;
  workload.options.optimizer.rematerialize = graph::Rematerialize::kNothing;
  workload.options.threads = machine.threads;
  SLUICE_ASSIGN(train::ForwardModel forward, train::build_forward(workload.options));
  workload.forward = std::move(forward.graph);
  const graph::Graph logical = graph::build_training_graph(graph::fold(workload.forward), workload.options.optimizer);
  workload.logical_fingerprint = logical.fingerprint();
  SLUICE_ASSIGN(workload.compiled, kernels::compile_for(logical, {{machine.threads, workload.options.backend}}));
  return workload;
}

// Slowdown of every operand in Optane.
double only_pmm(const graph::Graph& graph, const profile::Profile& profile, const memory::Machine& machine) {
  const profile::CostModel costs(graph, profile, machine);
  Seconds seconds = 0;
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    const graph::Op& op = graph.op(index);
    seconds += costs.op_seconds(
        index, std::vector<memory::TierId>(op.inputs.size() + op.outputs.size(), memory::kFastTier + 1));
  }
  return seconds / costs.compute_seconds();
}

// The operands of the largest forward convolution.
Bytes largest_convolution(const graph::Graph& graph) {
  Bytes largest = 0;
  for (const graph::Op& op : graph.ops()) {
    if (op.kind != graph::OpKind::kConv2d) continue;
    Bytes bytes = 0;
    for (const graph::TensorId id : graph::distinct_operands(op)) bytes += graph.tensor(id).bytes;
    largest = std::max(largest, bytes);
  }
  return largest;
}

json coverage_json(const PublishedProfile& published) {
  json kinds = json::array();
  for (const auto& [kind, of] : published.coverage) {
    kinds.push_back({{"kind", std::string(to_string(kind))},
                     {"ops", of.ops},
                     {"unmatched_ops", of.unmatched_ops},
                     {"seconds", of.seconds},
                     {"scaled_seconds", of.scaled_seconds},
                     {"guessed_seconds", of.guessed_seconds},
                     {"placements", of.placements},
                     {"published_placements", of.published_placements}});
  }
  return kinds;
}

class Figures {
 public:
  Figures(const NumbersArguments& arguments, const KernelTable& table) : arguments_(arguments), table_(table) {}

  Status run(json document) {
    document["models"] = json::array();
    for (const std::string& model : arguments_.models) {
      SLUICE_ASSIGN(json swept, numbers_of(model));
      document["models"].push_back(std::move(swept));
      SLUICE_RETURN_IF_ERROR(report::write_json_file(arguments_.json, document));
    }
    return {};
  }

 private:
  Result<json> numbers_of(const std::string& model) {
    const memory::Machine machine = published_machine();
    SLUICE_ASSIGN(const train::Workload workload, whole_ops(model, machine));
    const PublishedProfile published = published_profile(workload.graph(), machine, table_);
    experiment::BudgetSweep sweep(workload, machine, published.profile);
    experiment::SweptModel swept = sweep.begin(model);
    for (const std::string& ratio : arguments_.ratios) {
      SLUICE_ASSIGN(const double share, share_of(ratio));
      for (const std::string& planner : arguments_.planners) {
        progress_.update(done_++, total(), fmt::format("{} {} {}", model, ratio, planner));
        swept.points.push_back(sweep.predict(planner, MemorySize{share}.resolve(swept.whole)));
      }
    }
    json numbers = report::sweep_json({&swept, 1}).front();
    numbers["graph"] = report::describe_graph(workload.graph());
    numbers["ratios"] = arguments_.ratios;  // of the points: by ratio, then by planner
    numbers["kinds"] = coverage_json(published);
    numbers["only_pmm_slowdown"] = only_pmm(workload.graph(), published.profile, machine);
    numbers["largest_convolution_share"] =
        static_cast<double>(largest_convolution(workload.graph())) / static_cast<double>(swept.whole);
    return numbers;
  }

  std::int64_t total() const {
    return static_cast<std::int64_t>(arguments_.models.size() * arguments_.ratios.size() * arguments_.planners.size());
  }

  const NumbersArguments& arguments_;
  const KernelTable& table_;
  ProgressLine progress_{"planning"};
  std::int64_t done_ = 0;
};

Status write_figures(const NumbersArguments& arguments) {
  SLUICE_ASSIGN(std::vector<Kernel> kernels, read_kernels(arguments.folder));
  if (kernels.empty()) return bad_input(fmt::format("no kernel with a time in DRAM in '{}'", arguments.folder));
  const memory::Machine rule = autotm_machine(), machine = published_machine();
  const Fit fit = fit_to(rule, kernels);
  json document{{"run", report::run_record(machine)},
                {"times", "simulated from published kernel times"},
                {"machine", machine_json(machine)},
                {"fit", fit_json(fit)},
                {"kernels_published", kernels.size()}};
  return Figures(arguments, KernelTable(std::move(kernels), rule, fit)).run(std::move(document));
}

}  // namespace
}  // namespace sluice::benchmarks::autotm

int main(int argc, char** argv) {
  sluice::benchmarks::autotm::NumbersArguments arguments;
  CLI::App app("What AutoTM's published kernel times say of the emulation's rule, and of our graphs");
  app.require_subcommand(1);
  CLI::App* kernels = app.add_subcommand("kernels", "The emulation's rule beside every kernel");
  CLI::App* figures = app.add_subcommand("figures", "Our graphs planned on the kernels' times");
  for (CLI::App* command : {kernels, figures}) {
    command->add_option("folder", arguments.folder, "AutoTM's tables as text")
        ->required()
        ->check(CLI::ExistingDirectory);
    command->add_option("json", arguments.json, "Where the numbers go")->required();
  }
  figures->add_option("--models", arguments.models, "Built-in models")->delimiter(',')->capture_default_str();
  figures->add_option("--planners", arguments.planners, "Planners")->delimiter(',')->capture_default_str();
  figures->add_option("--ratios", arguments.ratios, "PMM to DRAM, by rising DRAM")
      ->delimiter(',')
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const sluice::Status written = kernels->parsed() ? sluice::benchmarks::autotm::write_kernels(arguments)
                                                   : sluice::benchmarks::autotm::write_figures(arguments);
  if (written.ok()) return 0;
  fmt::print(stderr, "autotm_numbers: {}\n", written.error().message);
  return 2;
}
