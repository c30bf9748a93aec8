#include "tools/process/end_with_parent.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace sluice::cli {
namespace {

constexpr const char* kVariable = "SLUICE_PARENT";

}  // namespace

bool end_with_parent() {
  const char* const variable = std::getenv(kVariable);
  if (variable == nullptr) return true;
  const std::string parent = variable;
  ::unsetenv(kVariable);  // it is not for the processes that this one starts
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return std::to_string(::getppid()) == parent;
}

}  // namespace sluice::cli
