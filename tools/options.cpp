#include "tools/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "sluice/exec/profiler.hpp"
#include "sluice/train/progress.hpp"

namespace sluice {
namespace {

std::string planner_help() {
  std::string text = "Who decides what lives where:";
  for (const PlannerEntry& entry : planners()) text += fmt::format("\n{:>14}  {}", entry.name, entry.summary);
  return text;
}

std::int64_t default_batch(const std::string& model) {
  const auto entry = std::ranges::find(models(), model, &ModelEntry::name);
  return entry == models().end() ? 1 : entry->default_batch;
}

}  // namespace

void WorkloadArguments::add_to(CLI::App& command) {
  command.add_option("model", model, "Built-in model (sluice models lists them)")->required();
  command.add_option("--batch", batch, "Images per step (default: the model's usual)");
  command.add_option("--image-size", image_size, "Pixels a side (default: the model's usual)");
  command.add_option("--classes", classes, "Number of classes (default: the model's usual)");
  command.add_option("--momentum", momentum, "SGD momentum")->capture_default_str();
  command.add_option("--weight-decay", weight_decay, "SGD weight decay")->capture_default_str();
}

Result<WorkloadOptions> WorkloadArguments::options(int threads) const {
  for (const auto& [name, value] : {std::pair("--image-size", image_size), std::pair("--classes", classes)}) {
    if (value && *value <= 0)
      return Error{ErrorCode::kBadInput, fmt::format("{} must be above 0, got {}", name, *value)};
  }
  if (!(momentum >= 0) || !(weight_decay >= 0)) {
    return Error{ErrorCode::kBadInput, "--momentum and --weight-decay must not be negative"};
  }
  const ModelOptions shape{batch.value_or(default_batch(model)), image_size.value_or(0), classes.value_or(0)};
  return WorkloadOptions{model, shape, {momentum, weight_decay}, threads};
}

void MachineArguments::add_threads_to(CLI::App& command) {
  command.add_option("--threads", threads, "Compute threads (default: all processors)");
}

void MachineArguments::add_to(CLI::App& command) {
  add_threads_to(command);
  command.add_option("--slow", slow, fmt::format("Slow tier: {}", fmt::join(slow_tier_names(), ", ")))
      ->capture_default_str();
  command.add_option("--spill-dir", spill_dir, "Where the file tier lies: a folder, or a FILE.spill kept between runs");
  command.add_option("--link-bandwidth", link_bandwidth,
                     "Throttle both links to this, such as 1GB/s (emulates a slower link)");
  command.add_option("--cache-dir", cache_dir, "Where measured op times are kept (default: ~/.cache/sluice)");
}

Result<int> MachineArguments::thread_count() const {
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (threads < 0 || threads > processors) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("--threads must be from 1 to the number of processors, {}; got {}", processors, threads)};
  }
  return threads == 0 ? processors : threads;
}

Result<Machine> MachineArguments::machine() const {
  MachineOptions options;
  SLUICE_ASSIGN(options.threads, thread_count());
  options.slow_tier = slow;
  options.spill_path = spill_dir;
  if (!link_bandwidth.empty()) {
    SLUICE_ASSIGN(options.link_bandwidth, parse_bandwidth(link_bandwidth));
  }
  return make_machine(options);
}

ProfileCache MachineArguments::open_cache(const Machine& machine) const {
  return ProfileCache::open(machine.compute_fingerprint(),
                            cache_dir.empty() ? ProfileCache::default_folder() : std::filesystem::path(cache_dir));
}

void BudgetArguments::add_to(CLI::App& command) {
  command.add_option("--fast", fast,
                     "Budget of the fast tier: 512MiB, 2GiB, or 20% of what everything takes (default: all it takes)");
}

Result<std::optional<MemorySize>> BudgetArguments::size() const {
  if (fast.empty()) return std::optional<MemorySize>{};
  SLUICE_ASSIGN(const MemorySize parsed, parse_memory_size(fast));
  return std::optional<MemorySize>(parsed);
}

Result<Prepared> prepare(const WorkloadArguments& workload, const MachineArguments& arguments, Probe probe) {
  Prepared prepared;
  SLUICE_ASSIGN(prepared.machine, arguments.machine());
  SLUICE_ASSIGN(const WorkloadOptions options, workload.options(prepared.machine.threads));
  SLUICE_ASSIGN(prepared.workload, build_workload(options));
  ProfileCache cache = arguments.open_cache(prepared.machine);
  SLUICE_RETURN_IF_ERROR(probe_machine(prepared.machine, cache, probe));
  ProgressLine progress("measuring ops");
  SLUICE_ASSIGN(prepared.profile, measure_profile(*prepared.workload.compiled, prepared.machine, cache,
                                                  [&](int measured, int total) { progress.update(measured, total); }));
  return prepared;
}

void add_json_option(CLI::App& command, std::string& path) {
  command.add_option("--json", path, "Also write the result to this file as JSON");
}

void add_planner_option(CLI::App& command, std::string& planner) {
  command.add_option("--planner", planner, planner_help())->capture_default_str();
}

}  // namespace sluice
