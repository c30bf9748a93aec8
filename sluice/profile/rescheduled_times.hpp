// Op times of a step's ops in another order: every execution takes what its op was measured to take. A batch norm that
// repeats only its apply part is charged all of it.
#pragma once

#include "sluice/graph/reschedule.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice {

Profile rescheduled_times(const Profile& profile, const Rescheduled& step);

}  // namespace sluice
