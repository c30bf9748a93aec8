// sluice: plans and runs neural-network training inside a fast-memory budget.
#include <exception>

#include "sluice/report/json_document.hpp"
#include "tools/end_with_parent.hpp"
#include "tools/exit_codes.hpp"
#include "tools/run_command.hpp"
#include "tools/terminal/messages.hpp"

int main(int argc, char** argv) {
  if (!sluice::end_with_parent()) return sluice::kExitInterrupted;
  sluice::ErrorDestination destination;
  try {
    return sluice::run_command(argc, argv, destination);
  } catch (const std::exception& failure) {
    sluice::print_error(failure.what());
    const auto error = sluice::internal_error(failure.what());
    (void)sluice::write_error_document(destination.path, destination.command, error);
    return sluice::kExitFailed;
  }
}
