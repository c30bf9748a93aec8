#include "sluice/plan/verify/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/plan/verify/same_values.hpp"
#include "sluice/plan/verify/verifier_checks.hpp"

namespace sluice::plan {

std::string_view to_string(Rule rule) {
  switch (rule) {
    case Rule::kWellFormed:
      return "well-formed";
    case Rule::kGraphMatches:
      return "graph-matches";
    case Rule::kMachineMatches:
      return "machine-matches";
    case Rule::kOperandResident:
      return "operand-resident";
    case Rule::kTierAddressable:
      return "tier-addressable";
    case Rule::kNoOverlap:
      return "no-overlap";
    case Rule::kWithinBudget:
      return "within-budget";
    case Rule::kSourceStaysValid:
      return "source-stays-valid";
    case Rule::kDestinationNotReadEarly:
      return "destination-not-read-early";
    case Rule::kWriteInvalidates:
      return "write-invalidates";
    case Rule::kCycleClosed:
      return "cycle-closed";
    case Rule::kLinkExists:
      return "link-exists";
    case Rule::kEncodingAllowed:
      return "encoding-allowed";
    case Rule::kSameValues:
      return "same-values";
  }
  return "unknown";
}

std::vector<Violation> Findings::in_op_order() && {
  std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.op < b.op; });
  std::vector<Violation> violations;
  for (std::size_t i = 0; i < std::min(found_.size(), kMostViolations); ++i) {
    violations.push_back(std::move(found_[i].violation));
  }
  return violations;
}

std::string Names::op(graph::OpIndex op) const { return fmt::format("op {} '{}'", op, graph_.op(op).name); }

std::string Names::tensor(graph::TensorId tensor) const {
  return fmt::format("tensor {} '{}'", tensor, graph_.tensor(tensor).name);
}

std::string Names::tier(memory::TierId tier) const {
  return fmt::format("tier {} '{}'", tier, machine_.tier(tier).name);
}

std::string Names::residency(ResidencyIndex residency) const {
  const Residency& r = plan_.residencies.at(as_index(residency));
  const auto index = as_index(residency);
  return fmt::format("residency {} ({}, bytes [{}, {}), ops [{}, {}))", residency, tier(r.tier), r.offset,
                     r.offset + extents_[index].bytes, r.ops.begin, r.ops.end);
}

std::string Names::migration(MigrationIndex migration) const {
  const Migration& m = plan_.migrations.at(as_index(migration));
  return fmt::format("migration {} (issue after {}, needed by {})", migration, m.issue_after, m.needed_by);
}

namespace {

// The graph of the plan's schedule, if it has one that can be followed and leaves every value as it is.
std::optional<graph::Rescheduled> checked_schedule(const graph::Graph& graph, const Plan& plan, Findings& findings) {
  if (plan.schedule.empty()) return std::nullopt;
  if (plan.schedule.size() != plan.ops.size()) {
    findings.add(Rule::kWellFormed, kStepStart,
                 fmt::format("the schedule has {} slots, and the plan {} ops", plan.schedule.size(), plan.ops.size()));
    return std::nullopt;
  }
  if (plan.schedule.size() > kMostRepetitions * graph.ops().size()) {
    findings.add(Rule::kWellFormed, kStepStart,
                 fmt::format("the schedule has {} slots for {} ops: more than {} for each", plan.schedule.size(),
                             graph.op_count(), kMostRepetitions));
    return std::nullopt;
  }
  Result<graph::Rescheduled> step = graph::reschedule(graph, plan.schedule);
  if (!step.ok()) {
    findings.add(Rule::kWellFormed, kStepStart, step.error().message);
    return std::nullopt;
  }
  for (Violation& violation : check_same_values(graph, *step, kMostViolations)) {
    findings.add(violation.rule, kStepStart, std::move(violation.message));
  }
  for (Violation& violation : check_same_choices(graph, plan.schedule, choices_of(plan), kMostViolations)) {
    findings.add(violation.rule, kStepStart, std::move(violation.message));
  }
  return std::move(*step);
}

// The graph with the plan's choices, if it makes any and every op has what is chosen for it.
std::optional<graph::Rescheduled> checked_choices(const graph::Graph& graph, const memory::Machine& machine,
                                                  const Plan& plan, Findings& findings) {
  if (plan.ops.size() != graph.ops().size()) return std::nullopt;  // check_form() says so
  const std::vector<graph::OpChoice> choices = choices_of(plan);
  if (graph::is_own_choice(graph, choices)) return std::nullopt;
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    const auto wrong = [&](const char* what, std::int32_t chosen, std::size_t there) {
      if (chosen >= 0 && as_index(chosen) < there) return;
      findings.add(Rule::kWellFormed, index,
                   fmt::format("op {} '{}': no {} {}; there {} {}", index, graph.op(index).name, what, chosen,
                               there == 1 ? "is" : "are", there));
    };
    const std::size_t implementations = graph.op(index).implementations.size();
    wrong("implementation", choices[as_index(index)].implementation, std::max<std::size_t>(implementations, 1));
    const ProcessorId processor = choices[as_index(index)].processor;
    wrong("processor", processor, machine.processor_count());
    const auto& lacking = graph.op(index).no_kernel_on;
    if (std::ranges::find(lacking, processor) != lacking.end()) {
      findings.add(
          Rule::kWellFormed, index,
          fmt::format("op {} '{}': processor {} has no kernel for it", index, graph.op(index).name, processor));
    }
  }
  if (!findings.empty()) return std::nullopt;
  return graph::chosen_step(graph, choices);
}

}  // namespace

std::vector<Violation> verify_plan(const graph::Graph& given, const memory::Machine& machine, const Plan& plan) {
  Findings findings;
  if (const std::string expected = given.fingerprint(); plan.graph_fingerprint != expected) {
    findings.add(
        Rule::kGraphMatches, kStepStart,
        fmt::format("the plan was made for graph '{}' with fingerprint {}, and this is '{}' with {}: plan again",
                    plan.graph_name, plan.graph_fingerprint, given.name, expected));
  }
  if (const std::string expected = machine.fingerprint(); plan.machine_fingerprint != expected) {
    findings.add(Rule::kMachineMatches, kStepStart,
                 fmt::format("the plan was made for a machine with fingerprint {}, and this one has {}: plan again",
                             plan.machine_fingerprint, expected));
  }
  std::optional<graph::Rescheduled> step;
  if (findings.empty()) step = checked_schedule(given, plan, findings);
  std::optional<graph::Rescheduled> chosen;
  if (findings.empty()) chosen = checked_choices(step ? step->graph : given, machine, plan, findings);
  const graph::Graph& graph = chosen ? chosen->graph : step ? step->graph : given;
  if (findings.empty()) check_form(graph, machine, plan, findings);
  if (findings.empty()) {
    const std::vector<verify::Extent> extents = verify::extents(graph, plan);
    const Names names(graph, machine, plan, extents);
    check_encodings(graph, plan, names, findings);
    check_rooms(machine, plan, extents, names, findings);
    check_copies(graph, machine, plan, names, findings);
  }
  return std::move(findings).in_op_order();
}

}  // namespace sluice::plan
