// sluice: plans and runs neural-network training inside a fast-memory budget.
#include <exception>

#include "sluice/report/json_document.hpp"
#include "tools/end_with_parent.hpp"
#include "tools/exit_codes.hpp"
#include "tools/openmp_environment.hpp"
#include "tools/run_command.hpp"
#include "tools/terminal/messages.hpp"

int main(int argc, char** argv) {
  sluice::cli::settle_openmp_environment();
  if (!sluice::cli::end_with_parent()) return sluice::cli::kExitInterrupted;
  sluice::cli::ErrorDestination destination;
  try {
    return sluice::cli::run_command(argc, argv, destination);
  } catch (const std::exception& failure) {
    sluice::cli::print_error(failure.what());
    const auto error = sluice::cli::internal_error(failure.what());
    (void)sluice::report::write_error_document(destination.path, destination.command, error);
    return sluice::cli::kExitFailed;
  }
}
