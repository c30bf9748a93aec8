// What the command's exit status says. The list is in --help, in the manual page and in docs/command-line.md.
#pragma once

#include <string>
#include <vector>

#include "sluice/base/result.hpp"

namespace sluice::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitInterrupted = 130;

int exit_code_of(ErrorCode code);

struct ExitCode {
  int code = 0;
  std::string meaning;
};
const std::vector<ExitCode>& exit_codes();

}  // namespace sluice::cli
