// sluice machine: tiers and links, measured, and which of them are emulated.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/memory/machine_json.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/run_record.hpp"
#include "sluice/report/text_table.hpp"
#include "tools/commands.hpp"
#include "tools/options.hpp"
#include "tools/terminal/say.hpp"

namespace sluice::cli {
namespace {

struct MachineCommandArguments {
  MachineArguments machine;
  std::string json;
};

std::string tier_table(const memory::Machine& machine) {
  report::TextTable table({{"tier", report::Align::kLeft, 0},
                           {"kind", report::Align::kLeft, 0},
                           {"capacity", report::Align::kRight, 0},
                           {"read", report::Align::kRight, 0},
                           {"write", report::Align::kRight, 0},
                           {"latency", report::Align::kRight, 0},
                           {"used in place", report::Align::kLeft, 0},
                           {"figures", report::Align::kLeft, 0}});
  for (const memory::Tier& tier : machine.tiers) {
    table.add_row({tier.name, std::string(to_string(tier.kind)), format_bytes(tier.capacity),
                   format_bandwidth(tier.read_bandwidth), format_bandwidth(tier.write_bandwidth),
                   format_seconds(tier.latency), tier.addressable ? "yes" : "no",
                   std::string(to_string(tier.provenance))});
  }
  return table.text();
}

// What the link keeps of its bandwidth while the link back is busy too.
std::string both_ways(const memory::Link& link) {
  return format_bandwidth(link.shared_bandwidth > 0 ? link.shared_bandwidth : link.bandwidth);
}

std::string cost_to_compute(const memory::Link& link) {
  std::string text = format_seconds(link.interference * 1e9) + "/GB";
  if (link.request_interference > 0) text += fmt::format(" + {}/request", format_seconds(link.request_interference));
  return text;
}

std::string link_table(const memory::Machine& machine) {
  report::TextTable table({{"link", report::Align::kLeft, 0},
                           {"bandwidth", report::Align::kRight, 0},
                           {"both ways at once", report::Align::kRight, 0},
                           {"latency", report::Align::kRight, 0},
                           {"request", report::Align::kRight, 0},
                           {"in flight", report::Align::kRight, 0},
                           {"cost to compute", report::Align::kRight, 0},
                           {"figures", report::Align::kLeft, 0}});
  for (const memory::Link& link : machine.links) {
    table.add_row({fmt::format("{} -> {}", machine.tier(link.from).name, machine.tier(link.to).name),
                   format_bandwidth(link.bandwidth), both_ways(link), format_seconds(link.latency),
                   format_bytes(link.request_bytes), fmt::format("{}", link.queue_depth), cost_to_compute(link),
                   link.throttled ? "emulated (throttled)" : std::string(to_string(link.provenance))});
  }
  return table.text();
}

void print_gpu() {
  const Result<memory::GpuFacts> gpu = gpu::find_gpu();
  if (!gpu.ok()) return;
  say("\nGPU: {}, {} of {} free; --gpu computes there and measures its links\n", gpu->name, format_bytes(gpu->free),
      format_bytes(gpu->capacity));
}

Result<int> run_machine(const MachineCommandArguments& arguments) {
  SLUICE_ASSIGN(memory::Machine machine, arguments.machine.machine());
  profile::ProfileCache cache = arguments.machine.open_cache(machine);
  SLUICE_RETURN_IF_ERROR(probe_with_progress(machine, cache, experiment::Probe::kMeasure));
  say("{}, {} threads{}\n\n{}\n{}", machine.cpu, machine.threads, report::is_emulated(machine) ? " (emulated)" : "",
      tier_table(machine), link_table(machine));
  if (!machine.processors.empty()) say("\nprocessors: {}\n", memory::describe_processors(machine));
  if (!arguments.machine.gpu) print_gpu();
  if (!arguments.json.empty()) {
    nlohmann::json document = memory::machine_to_json(machine);
    document["run"] = report::run_record(machine);
    SLUICE_RETURN_IF_ERROR(report::write_document(arguments.json, "machine", std::move(document)));
  }
  return kExitOk;
}

}  // namespace

void add_machine_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("machine", "Measure this machine's tiers and links");
  auto arguments = std::make_shared<MachineCommandArguments>();
  arguments->machine.add_to(*command);
  add_json_option(*command, arguments->json);
  command->footer("Example: sluice machine --slow file --link-bandwidth 1GB/s; of a GPU: sluice machine --gpu");
  command->callback([arguments, &action] { action = [arguments] { return run_machine(*arguments); }; });
}

}  // namespace sluice::cli
