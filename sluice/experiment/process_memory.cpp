#include "sluice/experiment/process_memory.hpp"

#include <fstream>
#include <limits>
#include <string>

namespace sluice {

Bytes peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") {
      Bytes kibibytes = 0;
      status >> kibibytes;
      return kibibytes * kKiB;
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace sluice
