// Finds what may make this process's counts and times differ from what they seem: a debugger, or a sanitizer in the
// build.
#pragma once

#include <string>
#include <vector>

namespace sluice::memory {

// One sentence for each disturbance: a debugger (it sees every fault first, and may keep it), or a sanitizer that this
// build was made with (its own accesses to memory count too, and everything is slower). Empty when there is none.
std::vector<std::string> counting_disturbances();

// The same from the text of /proc/self/status.
std::vector<std::string> disturbances_in(const std::string& process_status);

}  // namespace sluice::memory
