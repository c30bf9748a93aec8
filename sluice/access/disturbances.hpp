// What else may be watching this process, so that its counts or times are not what they seem.
#pragma once

#include <string>
#include <vector>

namespace sluice {

// One sentence each: a debugger (it sees every fault first, and may keep it), a sanitizer this build was made with (its
// own accesses to memory count too, and everything is slower). Empty when there is none.
std::vector<std::string> counting_disturbances();

// The same from the text of /proc/self/status.
std::vector<std::string> disturbances_in(const std::string& process_status);

}  // namespace sluice
