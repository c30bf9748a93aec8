// `sluice`, from its arguments to its exit code.
#pragma once

#include "tools/terminal/error_document.hpp"

namespace sluice::cli {

// Prints to standard output and standard error, and writes what stopped the command to where `destination` then says.
// Throws where an invariant of ours is broken. Settles what the process shows (base/progress/terminal.hpp): one call at a time.
int run_command(int argc, char** argv, ErrorDestination& destination);

}  // namespace sluice::cli
