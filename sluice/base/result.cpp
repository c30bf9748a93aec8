#include "sluice/base/result.hpp"

namespace sluice {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
      return "bad-input";
    case ErrorCode::kInfeasible:
      return "infeasible";
    case ErrorCode::kNoneFound:
      return "none-found";
    case ErrorCode::kOutOfTime:
      return "out-of-time";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kOutOfSpace:
      return "out-of-space";
    case ErrorCode::kMismatch:
      return "mismatch";
    case ErrorCode::kInterrupted:
      return "interrupted";
  }
  return "internal";
}

}  // namespace sluice
