// AutoTM's figures 7 and 10 for our graphs, planned on the kernel times that AutoTM's authors measured on real Optane:
// slowdown over only DRAM by the ratio of PMM to DRAM, operands in DRAM, bytes moved. Simulated from these times.
//
//   autotm_figures FOLDER [--models resnet50,vgg19,inception_v4] [--planners ...] [--ratios 8:1,4:1,...] [--json FILE]
//
// FOLDER holds fuzz_kernels.csv and fuzz_times.csv (autotm_data.hpp). They are of batch 16, the paper's figures of 512 and
// more, so trends are compared. Ops are fused as ours are, but neither cut into slices nor made again in the backward
// pass: nGraph does neither. --json is written anew after every model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "benchmarks/papers/autotm_figure_text.hpp"
#include "sluice/experiment/sweep.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/rewrite/fold.hpp"
#include "sluice/report/describe_graph.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/train/progress.hpp"
#include "sluice/train/workload.hpp"

namespace sluice::autotm {
namespace {

constexpr std::int64_t kBatch = 16;  // of the published kernels

struct FigureArguments {
  std::string folder, json;
  std::vector<std::string> models{"resnet50", "vgg19", "inception_v4"};
  std::vector<std::string> planners{"first-touch", "autotm-static", "autotm-sync", "sentinel", "joint"};
  std::vector<std::string> ratios{"64:1", "32:1", "16:1", "8:1", "4:1", "2:1", "1:1", "1:2", "1:4"};
};

Result<std::vector<Ratio>> rising_ratios(const std::vector<std::string>& texts) {
  std::vector<Ratio> ratios;
  for (const std::string& text : texts) {
    SLUICE_ASSIGN(const Ratio ratio, parse_ratio(text));
    ratios.push_back(ratio);
  }
  std::ranges::sort(ratios, {}, &Ratio::share);
  return ratios;
}

// The step as it would be without slices and with everything kept that the backward pass reads.
Result<Workload> whole_ops(const std::string& model, const Machine& machine) {
  Workload workload;
  workload.options.model = model;
  workload.options.shape.batch = kBatch;
  workload.options.optimizer.recompute = Recompute::kNothing;
  workload.options.threads = machine.threads;
  SLUICE_ASSIGN(ForwardModel forward, build_forward(workload.options));
  workload.forward = std::move(forward.graph);
  const Graph logical = build_training_graph(fold(workload.forward), workload.options.optimizer);
  workload.logical_fingerprint = logical.fingerprint();
  SLUICE_ASSIGN(workload.compiled, compile_for(logical, {{machine.threads, workload.options.backend}}));
  return workload;
}

double only_pmm(const Graph& graph, const Profile& profile, const Machine& machine) {
  const CostModel costs(graph, profile, machine);
  Seconds seconds = 0;
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    const Op& op = graph.op(index);
    seconds += costs.op_seconds(index, std::vector<TierId>(op.inputs.size() + op.outputs.size(), kFastTier + 1));
  }
  return seconds / costs.compute_seconds();
}

// The operands of the largest forward convolution.
Bytes largest_convolution(const Graph& graph) {
  Bytes largest = 0;
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::kConv2d) continue;
    Bytes bytes = 0;
    for (const TensorId id : distinct_operands(op)) bytes += graph.tensor(id).bytes;
    largest = std::max(largest, bytes);
  }
  return largest;
}

class Figures {
 public:
  Figures(const FigureArguments& arguments, std::vector<Ratio> ratios, const KernelTable& table)
      : arguments_(arguments), ratios_(std::move(ratios)), machine_(published_machine()), table_(table) {}

  Status run() {
    for (const std::string& model : arguments_.models) {
      SLUICE_RETURN_IF_ERROR(add(model));
      SLUICE_RETURN_IF_ERROR(keep());
    }
    progress_.clear();
    fmt::print("what the paper's text says of its figures 1, 7 and 10, beside this:\n{}",
               describe_figure_claims(models_));
    return {};
  }

 private:
  Status add(const std::string& model) {
    SLUICE_ASSIGN(const Workload workload, whole_ops(model, machine_));
    const PublishedProfile published = published_profile(workload.graph(), machine_, table_);
    BudgetSweep sweep(workload, machine_, published.profile);
    FiguredModel& figured = models_.emplace_back();
    figured.swept = sweep.begin(model);
    figured.ratios = ratios_;
    figured.coverage = published.coverage;
    figured.only_pmm = only_pmm(workload.graph(), published.profile, machine_);
    figured.largest_convolution =
        static_cast<double>(largest_convolution(workload.graph())) / static_cast<double>(figured.swept.whole);
    for (const Ratio& ratio : ratios_) {
      const Bytes budget = MemorySize{ratio.share()}.resolve(figured.swept.whole);
      for (const std::string& planner : arguments_.planners) {
        progress_.update(done_++, total(), fmt::format("{} {} {}", model, ratio.text(), planner));
        figured.swept.points.push_back(sweep.predict(planner, budget));
      }
    }
    print(figured, workload.graph());
    return {};
  }

  std::int64_t total() const {
    return static_cast<std::int64_t>(arguments_.models.size() * ratios_.size() * arguments_.planners.size());
  }

  void print(const FiguredModel& figured, const Graph& graph) const {
    progress_.clear();
    fmt::print("{}\n\ntimes of its ops:\n{}\n", describe_graph(graph), describe_coverage(figured));
    fmt::print("slowdown over only DRAM, {} (simulated from published kernel times):\n{}\n",
               format_seconds(figured.swept.baseline_seconds), describe_slowdowns(figured));
    fmt::print("operands in DRAM, by bytes, and bytes moved in a step (simulated from published kernel times):\n{}\n",
               describe_operands(figured));
    std::fflush(stdout);
  }

  Status keep() const {
    if (arguments_.json.empty()) return {};
    nlohmann::json document = figures_json(models_);
    document["run"] = run_record(machine_);
    document["times"] = "simulated from published kernel times";
    return write_json_file(arguments_.json, document);
  }

  const FigureArguments& arguments_;
  std::vector<Ratio> ratios_;
  Machine machine_;
  const KernelTable& table_;
  std::vector<FiguredModel> models_;
  mutable ProgressLine progress_{"planning"};
  std::int64_t done_ = 0;
};

void print_heading(const Machine& machine, const Fit& fit, std::size_t kernels) {
  fmt::print(
      "our graphs, batch {}, planned on {} kernels that AutoTM's authors timed on real Optane; simulated\n"
      "{}; copies to DRAM at {} and from it at {}, by all compute threads: nothing computes beside them\n"
      "placements that were not published: the emulation's rule, {:.2f} of the caches usable, {:.0f} us per output\n"
      "Ours fuse what nGraph runs one after the other (batch norm with residual and ReLU; a gradient with its ReLU's):\n"
      "such an op takes the sum. SGD has a momentum here, as a second add. All tensors are placed, parameters and momenta\n"
      "too (first touch: before all others); AutoTM placed intermediate ones. joint may besides run ops again or in another\n"
      "order.\n\n",
      kBatch, kernels, machine.cpu, format_bandwidth(machine.links.front().bandwidth),
      format_bandwidth(machine.links.back().bandwidth), fit.usable_caches, fit.per_output * 1e6);
}

Status run(const FigureArguments& arguments) {
  SLUICE_ASSIGN(std::vector<Ratio> ratios, rising_ratios(arguments.ratios));
  SLUICE_ASSIGN(std::vector<Kernel> kernels, read_kernels(arguments.folder));
  if (kernels.empty()) return bad_input(fmt::format("no kernel with a time in DRAM in '{}'", arguments.folder));
  const Machine rule = autotm_machine();
  const Fit fit = fit_to(rule, kernels);
  print_heading(published_machine(), fit, kernels.size());
  const KernelTable table(std::move(kernels), rule, fit);
  return Figures(arguments, std::move(ratios), table).run();
}

}  // namespace
}  // namespace sluice::autotm

int main(int argc, char** argv) {
  sluice::autotm::FigureArguments arguments;
  CLI::App app("Plans our graphs on AutoTM's published kernel times, beside its figures 7 and 10");
  app.add_option("folder", arguments.folder, "AutoTM's tables as text")->required()->check(CLI::ExistingDirectory);
  app.add_option("--models", arguments.models, "Built-in models")->delimiter(',')->capture_default_str();
  app.add_option("--planners", arguments.planners, "Planners")->delimiter(',')->capture_default_str();
  app.add_option("--ratios", arguments.ratios, "PMM to DRAM")->delimiter(',')->capture_default_str();
  app.add_option("--json", arguments.json, "Also write the result to this file");
  CLI11_PARSE(app, argc, argv);
  const auto result = sluice::autotm::run(arguments);
  if (result.ok()) return 0;
  fmt::print(stderr, "autotm_figures: {}\n", result.error().message);
  return 2;
}
