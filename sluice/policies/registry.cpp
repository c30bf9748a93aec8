#include "sluice/policies/dtr/dtr.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {

// A line for each policy, in the order of --help. NAME_policy() is defined in the policy's own file, with the sources
// of its figures.
#define SLUICE_POLICIES(entry) \
  entry(numa_first_touch) entry(ial) entry(oim) entry(memory_mode) entry(um) entry(um_prefetch) entry(tpp)

#define SLUICE_DECLARE_POLICY(name) PolicyEntry name##_policy();
SLUICE_POLICIES(SLUICE_DECLARE_POLICY)

#define SLUICE_CALL_POLICY(name) name##_policy(),
const std::vector<PolicyEntry>& policies() {
  static const std::vector<PolicyEntry> table{SLUICE_POLICIES(SLUICE_CALL_POLICY){kDtrName, kDtrSummary, {}}};
  return table;
}

}  // namespace sluice::policies
