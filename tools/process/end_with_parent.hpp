// The environment variable SLUICE_PARENT holds the number of the process that called the command and wants it to end with
// itself, however it does: a program that is killed sends no signals.
#pragma once

namespace sluice::cli {

// Without the variable nothing; false where that process has ended already.
bool end_with_parent();

}  // namespace sluice::cli
