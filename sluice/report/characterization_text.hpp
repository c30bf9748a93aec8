// A characterization as tables for people.
#pragma once

#include <span>
#include <string>

#include "sluice/layout/page_migration.hpp"
#include "sluice/report/characterization.hpp"

namespace sluice::report {

// Lifetimes, distances, memory over the step and the lower bound; hot and cold tensors and false sharing where they
// were measured.
std::string describe_characterization(const graph::Graph& graph, const graph::Liveness& liveness,
                                      const Characterization& found);

// What moving pages instead of tensors would cost at a fast budget.
struct PageMigrationCase {
  Bytes page_bytes = 0;
  Bytes fast_budget = 0;
  Result<layout::PageMigrationComparison> comparison;
};
std::string describe_page_migration(std::span<const PageMigrationCase> cases);

// How the accesses were counted, and what to know about the counts.
std::string describe_access_method(const profile::AccessProfile& profile);

std::string_view to_string(Heat heat);  // "< 10", "10-100", "> 100"

// "12.3 %"; of nothing: "-".
std::string format_share(double part, double whole);

}  // namespace sluice::report
