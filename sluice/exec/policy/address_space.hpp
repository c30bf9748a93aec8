// A step in the address space that a policy over pages sees: every tensor at its place of layout/page_layout.hpp, for good.
// Which of the pages take fast memory is the policy's to say (performed_moves.hpp).
#pragma once

#include "sluice/layout/page_layout.hpp"
#include "sluice/policies/policy_settings.hpp"
#include "sluice/policies/step_accesses.hpp"
#include "sluice/program/program.hpp"

namespace sluice::exec {

struct SpaceProgram {
  program::Program program;
  memory::Machine machine;  // where the fast tier's storage is ordinary memory, bound to no node
};

// `program` uses the fast tier alone. Its storage becomes the whole address space, and that of tiers in files as large.
SpaceProgram in_address_space(program::Program program, const graph::Graph& graph, const layout::PageLayout& layout,
                              const memory::Machine& machine, Bytes page_bytes);

// Where nothing is used in slow memory, an op's pages are all in fast memory while it runs. kInfeasible naming the op
// that needs most, where that is more than there is.
Status check_ops_fit(const graph::Graph& graph, const policies::StepAccesses& accesses,
                     const policies::ChosenPages& chosen);

}  // namespace sluice::exec
