#include "sluice/train/workload/processor_choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "sluice/base/as_index.hpp"

namespace sluice::train {
namespace {

constexpr std::array kPhases{graph::Phase::kForward, graph::Phase::kBackward, graph::Phase::kUpdate};

Result<ProcessorId> find_processor(const memory::Machine& machine, std::string_view name) {
  const auto found = std::ranges::find(machine.processors, name, &memory::Processor::name);
  if (found != machine.processors.end()) return as_id<ProcessorId>(found - machine.processors.begin());
  std::vector<std::string> known;
  for (const memory::Processor& each : machine.processors) known.push_back(each.name);
  if (known.empty()) return bad_input("--on needs --processors, such as device:1,host:1");
  return bad_input(fmt::format("--on: there is no processor '{}'; there are {}", name, fmt::join(known, ", ")));
}

Result<graph::Phase> find_phase(std::string_view name) {
  const auto found = std::ranges::find(kPhases, name, [](graph::Phase phase) { return to_string(phase); });
  if (found != kPhases.end()) return *found;
  return bad_input(fmt::format("--on: there is no phase '{}'; there are forward, backward and update", name));
}

Status check_processor(const graph::Op& op, const memory::Machine& machine, ProcessorId chosen) {
  if (std::ranges::find(op.no_kernel_on, chosen) == op.no_kernel_on.end()) return {};
  const memory::Processor& processor = machine.processors.at(as_index(chosen));
  return Error{ErrorCode::kUnsupported,
               fmt::format("--on: processor '{}' cannot run {}, an op of kind {}: its backend {} has no kernel for "
                           "operands as the main processor lays them out",
                           processor.name, op.name, to_string(op.kind), processor.backend)};
}

}  // namespace

Result<std::vector<graph::OpChoice>> choose_processors(const graph::Graph& graph, const memory::Machine& machine,
                                                       const std::vector<std::string>& requests) {
  std::vector<graph::OpChoice> choices(graph.ops().size());
  for (const std::string& request : requests) {
    const std::size_t colon = std::min(request.find(':'), request.size());
    SLUICE_ASSIGN(const ProcessorId processor, find_processor(machine, request.substr(0, colon)));
    SLUICE_ASSIGN(const graph::Phase phase,
                  find_phase(std::string_view(request).substr(std::min(colon + 1, request.size()))));
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
      if (graph.op(op).phase == phase) choices[as_index(op)].processor = processor;
    }
  }
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    SLUICE_RETURN_IF_ERROR(check_processor(graph.op(op), machine, choices[as_index(op)].processor));
  }
  return choices;
}

}  // namespace sluice::train
