// Lays out a plan anew so that no two tensors share a page at the same time. This is for counting accesses by page,
// where a page must stand for one tensor (Sentinel section III-A).
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::plan {

// The same residencies, migrations and operand tiers at other offsets; blocks are taken apart. The new plan needs
// little more room than the old one; budgets that are too small for it are raised to what it needs. `plan` must have
// passed verify_plan(). Thread-safe.
Plan on_own_pages(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan);

}  // namespace sluice::plan
