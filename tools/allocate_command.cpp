// sluice allocate: offsets for the items of a CSV file, as low as a search finds them or below a capacity.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <memory>

#include "sluice/base/atomic_file.hpp"
#include "sluice/base/progress/progress.hpp"
#include "sluice/memory/offsets/allocation_file.hpp"
#include "sluice/memory/offsets/offset_minimizer.hpp"
#include "sluice/memory/offsets/offset_search.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/train/interrupt.hpp"
#include "tools/chart_output.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/output_files.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct AllocateArguments {
  std::string problem;
  std::string capacity;
  bool minimize = false;
  double time_limit = 60;
  std::string output, html, json;
};

struct Allocation {
  memory::OffsetAssignment assignment;  // the lowest that was found
  std::optional<Bytes> capacity;        // that was asked for
  bool impossible = false;              // nothing fits below the capacity: proven
  bool interrupted = false;
  Seconds seconds = 0;

  bool fits() const { return !capacity || assignment.height <= *capacity; }
  bool least() const { return assignment.height == assignment.lower_bound; }
};

// Below the capacity if there is a way, else as low as the portfolio comes.
void fit(std::span<const memory::OffsetItem> items, const std::function<bool()>& stop, Allocation& allocation) {
  memory::OffsetAssignment& assignment = allocation.assignment;
  assignment = memory::assign_offsets(items, *allocation.capacity);
  allocation.impossible = assignment.lower_bound > *allocation.capacity;
  if (allocation.fits() || allocation.impossible) return;
  memory::SearchResult found = memory::search_offsets(items, *allocation.capacity, {.stop = stop});
  allocation.impossible = found.verdict == memory::SearchVerdict::kImpossible;
  if (allocation.impossible) assignment.lower_bound = *allocation.capacity + 1;
  if (found.verdict != memory::SearchVerdict::kFound) return;
  assignment.offsets = std::move(found.offsets);
  assignment.height = memory::height_of(items, assignment.offsets);
}

Allocation allocate(std::span<const memory::OffsetItem> items, std::optional<Bytes> capacity, bool minimize,
                    Seconds limit) {
  using Clock = std::chrono::steady_clock;
  const train::InterruptGuard guard;
  const Clock::time_point start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  ProgressLine progress("searching");
  const std::function<bool()> stop = [&] {
    progress.update(static_cast<std::int64_t>(seconds()), static_cast<std::int64_t>(std::ceil(limit)),
                    "seconds at most");
    return guard.interrupted() || seconds() > limit;
  };
  Allocation allocation;
  allocation.capacity = capacity;
  if (capacity && !minimize) {
    fit(items, stop, allocation);
  } else {
    allocation.assignment = memory::minimize_offsets(items, stop);
    allocation.impossible = capacity && allocation.assignment.lower_bound > *capacity;
  }
  allocation.interrupted = guard.interrupted();
  allocation.seconds = seconds();
  return allocation;
}

std::string verdict_text(const Allocation& allocation) {
  const memory::OffsetAssignment& found = allocation.assignment;
  std::string text = fmt::format("height {} bytes, bound {} bytes", found.height, found.lower_bound);
  text += allocation.least() ? ": nothing is lower"
                             : fmt::format(": within {:.2f} % of the least there may be",
                                           100.0 * static_cast<double>(found.height - found.lower_bound) /
                                               static_cast<double>(std::max<Bytes>(1, found.lower_bound)));
  if (!allocation.fits()) {
    text += fmt::format("\ndoes not fit into {} bytes: {}", *allocation.capacity,
                        allocation.impossible ? "proven" : "nothing found in the time; a longer --time-limit may");
  }
  return text + fmt::format("\n{} in {}\n", allocation.interrupted ? "interrupted" : "done",
                            format_seconds(allocation.seconds));
}

// What is drawn of it beside its document: where each item lies, and when.
nlohmann::json boxes_json(const memory::AllocationProblem& problem, const memory::OffsetAssignment& found) {
  nlohmann::json boxes = nlohmann::json::array();
  for (std::size_t i = 0; i < problem.ids.size(); ++i) {
    boxes.push_back({{"id", problem.ids[i]},
                     {"lower", problem.live[i].begin},
                     {"upper", problem.live[i].end},
                     {"offset", found.offsets[i]},
                     {"size", problem.items[i].bytes}});
  }
  return boxes;
}

// This machine, of which nothing but the processor matters here.
Result<memory::Machine> machine_of_record() {
  SLUICE_ASSIGN(memory::Machine machine, memory::make_machine({.threads = 1}));
  machine.tiers.resize(1);
  machine.links.clear();
  return machine;
}

Result<nlohmann::json> allocation_json(const memory::AllocationProblem& problem, const Allocation& allocation) {
  SLUICE_ASSIGN(const memory::Machine machine, machine_of_record());
  const memory::OffsetAssignment& found = allocation.assignment;
  nlohmann::json offsets = nlohmann::json::object();
  for (std::size_t i = 0; i < problem.ids.size(); ++i) offsets[problem.ids[i]] = found.offsets[i];
  return nlohmann::json{{"run", report::run_record(machine)},
                        {"items", problem.ids.size()},
                        {"height", found.height},
                        {"lower_bound", found.lower_bound},
                        {"capacity", allocation.capacity ? nlohmann::json(*allocation.capacity) : nlohmann::json()},
                        {"fits", allocation.fits()},
                        {"impossible", allocation.impossible},
                        {"seconds", allocation.seconds},
                        {"offsets", offsets}};
}

Result<int> run_allocate(const AllocateArguments& arguments) {
  SLUICE_ASSIGN(const memory::AllocationProblem problem, memory::read_allocation(arguments.problem));
  std::optional<Bytes> capacity;
  if (!arguments.capacity.empty()) {
    SLUICE_ASSIGN(capacity, parse_bytes(arguments.capacity));
  }
  const Allocation allocation = allocate(problem.items, capacity, arguments.minimize, arguments.time_limit);
  const std::string csv = memory::allocation_csv(problem, allocation.assignment.offsets);
  Outputs outputs;
  if (arguments.output.empty()) {
    say("{}", csv);
  } else {
    outputs.note(write_file(arguments.output, csv));
  }
  const std::string verdict = verdict_text(allocation);
  say("{}", verdict);
  SLUICE_ASSIGN(nlohmann::json document, allocation_json(problem, allocation));
  outputs.note(report::write_document(arguments.json, "allocate", document));
  document["boxes"] = boxes_json(problem, allocation.assignment);
  outputs.note(write_charts(
      arguments.html,
      {"allocate", fmt::format("{}: {} items", arguments.problem, problem.ids.size()), verdict, std::move(document)}));
  SLUICE_RETURN_IF_ERROR(outputs.failure());
  if (allocation.interrupted) return kExitInterrupted;
  return allocation.fits() ? kExitOk : kExitFailed;
}

}  // namespace

void add_allocate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("allocate", "Assign offsets to items with known lifetimes (CSV)");
  auto arguments = std::make_shared<AllocateArguments>();
  command->add_option("problem", arguments->problem, "CSV file with the columns id, lower, upper, size")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--capacity", arguments->capacity, "Fit into so many bytes (default: as low as possible)")
      ->type_name("SIZE");
  command->add_flag("--minimize", arguments->minimize, "As low as possible, also when a capacity is given");
  command->add_option("--time-limit", arguments->time_limit, "Seconds to search at most")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_output_file(*command, "--output", arguments->output,
                  "Write the offsets to this CSV file instead of the terminal");
  add_html_option(*command, arguments->html, "Also write a page with a chart of where each item lies, and when",
                  {"--svg"});
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice allocate items.csv --capacity 1MiB --output offsets.csv --html offsets.html");
  command->callback([arguments, &action] { action = [arguments] { return run_allocate(*arguments); }; });
}

}  // namespace sluice::cli
