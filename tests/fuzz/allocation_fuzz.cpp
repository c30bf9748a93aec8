#include "sluice/memory/offsets/allocation_file.hpp"
#include "tests/fuzz/fuzz_targets.hpp"

namespace sluice::tests {

void fuzz_allocation(std::string_view input) {
  const Result<memory::AllocationProblem> problem = memory::parse_allocation(input, "input");
  if (!problem.ok()) return;
  SLUICE_CHECK(problem->ids.size() == problem->items.size() && problem->live.size() == problem->items.size(), "lists");
  Bytes bytes = 0;
  for (const memory::OffsetItem& item : problem->items) bytes += item.bytes;
  SLUICE_CHECK(bytes >= 0, "sizes that can be added");
}

}  // namespace sluice::tests
