#include "tools/process/exit_codes.hpp"

namespace sluice::cli {

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
    case ErrorCode::kInfeasible:
    case ErrorCode::kNoneFound:
    case ErrorCode::kOutOfTime:
    case ErrorCode::kUnsupported:
    case ErrorCode::kMismatch:
      return kExitBadInput;
    case ErrorCode::kIo:
    case ErrorCode::kOutOfSpace:
      return kExitFailed;
    case ErrorCode::kInterrupted:
      return kExitInterrupted;
  }
  return kExitFailed;
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> all{
      {kExitOk, "done; of a check, it holds"},
      {kExitFailed,
       "a check failed (a plan that breaks rules, other bits, no room), or a file or device did, standard output too"},
      {kExitBadInput,
       "what was asked for is wrong or cannot be done: an option, a file, a budget or a time that is too small"},
      {kExitInterrupted, "interrupted, by Ctrl-C, SIGTERM or a hangup; what was finished is kept"}};
  return all;
}

}  // namespace sluice::cli
