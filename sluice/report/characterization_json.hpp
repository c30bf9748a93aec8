// A characterization as JSON for programs: every number of the tables, and the curve of live bytes.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "sluice/report/characterization_text.hpp"

namespace sluice::report {

// {"layers", "short_lived", "long_lived", "persistent", "lifetimes", "distances", "live", "bound"} and, where measured,
// {"hot_and_cold", "false_sharing"}. A group of tensors is {"tensors", "bytes"}; split by size: {"small", "large"}.
nlohmann::json characterization_json(const graph::Graph& graph, const Characterization& found);

// [{"page_bytes", "fast_bytes", "allocation_order", "freed_known", "reorganized": {"in", "out"}; or "error"}]
nlohmann::json page_migration_json(std::span<const PageMigrationCase> cases);

// How the accesses were counted: {"method", "tlb_reach", "largest_chunk", "normal_ms", "profiled_ms", "provenance",
// "notes"}
nlohmann::json access_method_json(const profile::AccessProfile& profile);

}  // namespace sluice::report
