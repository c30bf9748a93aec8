// Measurements of a step's ops for the same ops in another order: every execution takes, and touches, what its op was
// measured to. A batch norm that repeats only its apply part is charged all of it. Where the step chooses
// implementations or processors, their times are taken; those of the first implementation on the main processor where
// nobody measured.
#pragma once

#include "sluice/graph/reschedule.hpp"
#include "sluice/profile/access_profile.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::profile {

Profile rescheduled_times(const Profile& profile, const graph::Rescheduled& step);
AccessProfile rescheduled_accesses(const AccessProfile& accesses, const graph::Rescheduled& step);

}  // namespace sluice::profile
