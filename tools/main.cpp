// sluice: plans and runs neural-network training inside a fast-memory budget.
#include <execinfo.h>
#include <unistd.h>

#include <cstring>
#include <exception>

#include "sluice/report/json_document.hpp"
#include "tools/process/end_with_parent.hpp"
#include "tools/process/exit_codes.hpp"
#include "tools/process/openmp_environment.hpp"
#include "tools/run_command.hpp"
#include "tools/terminal/messages.hpp"

namespace {

void tell_plainly(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

// The last resort, where nobody could handle what was thrown: there is no memory for an error's text, say. Asks for none.
[[noreturn]] void end_with_reason() {
  tell_plainly("sluice: ended by what nobody handles: ");
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    tell_plainly("no exception");
  } catch (const std::exception& failure) {
    tell_plainly(failure.what());
  } catch (...) {
    tell_plainly("no exception of ours");
  }
  tell_plainly("\n");
  ::_exit(sluice::cli::kExitFailed);
}

// OpenMP ends threads by pthread_exit(), which loads the unwinder when it is called first, and aborts where no memory is left
// for that. So does backtrace() load it, without harm.
void load_unwinder() {
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(end_with_reason);
  load_unwinder();
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
