// Says whether a Program can go wrong: runs it on symbolic memory, in an order chosen against it.
//
// Each stretch of a tier that is used as one holds a label (tensor, version, first byte, encoded) instead of bytes; a
// version counts the tensor's writes. Ops and transfers start and finish as separate events, and which event comes next
// is random within what the Program's waits allow: some transfers, and processors, are held back as long as anything
// else can go on, others finish at once. While an instruction runs, what it writes is unreadable and what it reads must
// not change. The Program is wrong when an op or a transfer finds another label than the graph's order of writes
// demands, or when somebody writes where a running instruction works. A missing wait shows up only in some orders, so
// run several seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/program/program.hpp"

namespace sluice::testing {

// `graph`: the plan's (plan/plan_graph.hpp). Runs `steps` steps, one after the other on the same memory. Returns what
// went wrong first, or nothing.
std::optional<std::string> find_race(const graph::Graph& graph, const program::Program& program, std::uint64_t seed,
                                     int steps = 2);

// What the verifier says of a plan, and, where it accepts it, the first race in ten orders of the lowered program.
struct PlanTrial {
  bool accepted = false;
  std::optional<std::string> race;
};
PlanTrial try_plan(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan);

}  // namespace sluice::testing
