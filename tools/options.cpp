#include "tools/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "sluice/base/text/closest_name.hpp"
#include "sluice/base/threads/compute_thread_count.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/policies/policy_settings.hpp"
#include "sluice/report/json_document.hpp"
#include "tools/output_files.hpp"
#include "tools/terminal/output_settings.hpp"

namespace sluice::cli {
namespace {

// Policies have no plan, but can be named where a step is run or predicted.
std::string policy_help() {
  std::string text = "\nor, as accesses happen and without a plan (slow memory emulated):";
  std::string without_pages = "\nor, during the step and without slow memory:";
  for (const policies::PolicyEntry& entry : policies::policies())
    (entry.pages ? text : without_pages) += fmt::format("\n{:>16}  {}", entry.name, entry.summary);
  return text + without_pages;
}

std::string addition_help() {
  std::string text = "\nPLANNER:additions=none is a planner as published, PLANNER:additions=A+B has these of our own:";
  for (const planners::PlannerEntry& entry : planners::planners()) {
    for (const planners::PlannerAddition& each : entry.additions) {
      text += fmt::format("\n{:>16}  {}: {}", entry.name, each.name, each.summary);
    }
  }
  return text;
}

std::string setting_help() {
  std::string text = "\nPLANNER:NAME=VALUE sets a number, or one of a few words:";
  for (const planners::PlannerEntry& entry : planners::planners()) {
    for (const Setting& each : entry.settings.rows) {
      text += fmt::format("\n{:>16}  {}: {} (default {})", entry.name, each.name, each.help,
                          text_of(each, entry.settings.defaults));
    }
  }
  for (const Setting& each : policies::policy_settings().rows)
    text += fmt::format("\n{:>16}  {}: {}", "a policy", each.name, each.help);
  return text;
}

}  // namespace

void MachineArguments::add_threads_to(CLI::App& command) {
  command.add_option(
      "--threads", threads,
      "Compute threads (default: as many as this process has processors, by its control group's quota and OMP_THREAD_LIMIT, too)");
}

void MachineArguments::add_to(CLI::App& command) {
  add_threads_to(command);
  command
      .add_option("--slow", slow,
                  fmt::format("Slow tier: {}, numa:NODE; with :8GiB or :25% (of what everything takes) no more of it. "
                              "Again for each further one, nearest first (default: file; with --gpu host, which is "
                              "pinned memory)",
                              fmt::join(memory::slow_tier_names(), ", ")))
      ->type_name(fmt::format("{}", fmt::join(memory::slow_tier_names(), "|")))
      ->allow_extra_args(false);
  command.add_flag("--gpu", gpu, "Compute on the NVIDIA GPU: its memory is the fast tier");
  command.add_option("--spill-dir", spill_dir, "Where the file tier lies: a folder, or a FILE.spill kept between runs")
      ->type_name("FOLDER");
  command
      .add_option("--link-bandwidth", link_bandwidth,
                  "Throttle all links to this, such as 1GB/s (emulates slower ones)")
      ->type_name("BANDWIDTH");
  command
      .add_option("--network", network,
                  "Predict steps of several ranks with a network of this bandwidth, such as 12.5GB/s (simulated)")
      ->type_name("BANDWIDTH");
  command
      .add_option("--processors", processors,
                  "Set cores aside for several processors that compute at once, the main one first, such as "
                  "device:1,host:1 (emulated); NAME:THREADS:TIER+TIER says which memory each may use in place")
      ->type_name("PROCESSORS");
  command
      .add_option("--on", on, "Give a phase's ops to a processor, such as host:update. Again for each further phase")
      ->type_name("ASSIGNMENT")
      ->allow_extra_args(false);
  command
      .add_option("--choices-of", choices_of,
                  "Run every op by the kernel and on the processor that this plan has for it, whatever the planner: "
                  "fast-only then computes that plan's bits")
      ->check(CLI::ExistingFile);
  command.add_option("--cache-dir", cache_dir, "Where measured op times are kept (default: ~/.cache/sluice)")
      ->type_name("FOLDER");
}

Result<int> MachineArguments::thread_count() const {
  const int cores = processor_count();
  if (threads < 0 || threads > cores) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("--threads must be from 1 to the number of processors, {}; got {}", cores, threads)};
  }
  SLUICE_ASSIGN(const std::vector<memory::ProcessorRequest> requests, processor_requests());
  if (!requests.empty()) return requests.front().threads;
  return threads == 0 ? usual_compute_threads(read_thread_limits()) : threads;
}

Result<std::vector<memory::ProcessorRequest>> MachineArguments::processor_requests() const {
  if (processors.empty()) return std::vector<memory::ProcessorRequest>();
  if (threads != 0)
    return bad_input("--threads and --processors exclude each other: each processor has its own threads");
  SLUICE_ASSIGN(std::vector<memory::ProcessorRequest> requests, memory::parse_processors(processors));
  int together = 0;
  for (const memory::ProcessorRequest& each : requests) together += each.threads;
  if (together <= processor_count()) return requests;
  return bad_input(fmt::format("--processors {}: {} threads together, and this machine has {} cores to set aside",
                               processors, together, processor_count()));
}

Result<memory::Machine> MachineArguments::machine(const std::optional<Bytes>& whole) const {
  memory::MachineOptions options{.slow = {}, .spill_path = spill_dir};
  SLUICE_ASSIGN(options.threads, thread_count());
  SLUICE_ASSIGN(options.processors, processor_requests());
  if (gpu) {
    SLUICE_ASSIGN(options.gpu, gpu::find_gpu());
  }
  const std::vector<std::string> usual{gpu ? "host" : "file"};
  for (const std::string& text : slow.empty() ? usual : slow) {
    SLUICE_ASSIGN(const memory::SlowTierRequest asked, memory::parse_slow_tier(text));
    if (asked.is_share() && !whole) {
      return Error{ErrorCode::kBadInput, fmt::format("--slow {}: this command does not know what everything takes; say "
                                                     "how many bytes, such as {}:2GiB",
                                                     text, asked.name)};
    }
    const Bytes capacity = asked.capacity ? asked.capacity->resolve(whole.value_or(0)) : 0;
    options.slow.push_back({asked.name, capacity});
  }
  if (!link_bandwidth.empty()) {
    SLUICE_ASSIGN(options.link_bandwidth, parse_bandwidth(link_bandwidth));
  }
  return memory::make_machine(options);
}

profile::ProfileCache MachineArguments::open_cache(const memory::Machine& machine) const {
  const std::filesystem::path folder =
      cache_dir.empty() ? profile::ProfileCache::default_folder() : std::filesystem::path(cache_dir);
  profile::ProfileCache cache = profile::ProfileCache::open(machine.compute_fingerprint(), folder);
  for (const std::string& note : cache.notes()) spdlog::warn(note);
  return cache;
}

void ProfileArguments::add_to(CLI::App& command) {
  command.add_option("--profile", times, "Op times from this file (sluice profile --save) instead of measuring")
      ->check(CLI::ExistingFile);
  command
      .add_option("--accesses", accesses,
                  "Main-memory accesses from this file (sluice profile --accesses --save): sentinel prefetches what is "
                  "accessed most first. Without it planners go by the ops that use a tensor")
      ->check(CLI::ExistingFile);
}

Status check_planner_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (policies::names_policy(name)) continue;
    const Result<planners::ChosenPlanner> chosen = planners::choose_planner(name);
    if (chosen.ok()) continue;
    if (planners::find_planner(name) != nullptr) return chosen.error();
    std::vector<std::string_view> known;
    for (const planners::PlannerEntry& entry : planners::planners()) known.push_back(entry.name);
    std::ranges::copy(policies::known_policies(), std::back_inserter(known));
    return bad_input(fmt::format("unknown planner '{}'{}planners and policies: {}", name, suggest_name(name, known),
                                 fmt::join(known, ", ")));
  }
  return {};
}

void add_json_option(CLI::App& command, std::string& path) {
  add_output_file(
      command, "--json", path,
      fmt::format("Also write the result to this file as JSON (docs/json.md); {}: to standard output, and the text "
                  "for people to standard error",
                  report::kStandardOutput))
      ->group(kOutputGroup);
}

void add_learning_rate_option(CLI::App& command, std::optional<double>& rate) {
  command.add_option("--lr", rate, fmt::format("Base learning rate (default: {})", graph::usual_rates()))
      ->type_name("RATE");
}

Result<double> base_learning_rate(const std::optional<double>& asked, const std::string& optimizer) {
  if (!asked) {
    SLUICE_ASSIGN(const graph::Optimizer chosen, graph::parse_optimizer(optimizer));
    return graph::optimizer_row(chosen).rate;
  }
  if (*asked > 0) return *asked;
  return Error{ErrorCode::kBadInput, "--lr must be above 0"};
}

void add_data_options(CLI::App& command, train::SessionOptions& session) {
  command
      .add_option("--data", session.data,
                  "synthetic, cifar10:DIRECTORY, cifar100:DIRECTORY, mnist:DIRECTORY or tokens:FILE_OR_FOLDER")
      ->type_name("DATA")
      ->capture_default_str();
  command.add_option("--seed", session.seed, "Of initial parameters, data, its order and dropout")
      ->capture_default_str();
}

void add_trials_option(CLI::App& command, std::optional<std::int64_t>& trials) {
  command.add_option("--trials", trials,
                     "At most so many steps to decide between plans by running them (0: none; default: as many as the "
                     "planner wants where ops can use slow memory in place, else none)");
}

Status check_trials(const std::optional<std::int64_t>& trials) {
  if (trials.value_or(0) >= 0) return {};
  return Error{ErrorCode::kBadInput, fmt::format("--trials must not be negative, got {}", *trials)};
}

std::string planner_help() {
  std::string text = "Who decides what lives where:";
  for (const planners::PlannerEntry& entry : planners::planners())
    text += fmt::format("\n{:>16}  {}", entry.name, entry.summary);
  return text + addition_help() + setting_help() + policy_help();
}

}  // namespace sluice::cli
