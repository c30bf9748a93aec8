#include "sluice/memory/observe/fault_handler.hpp"

#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "sluice/memory/observe/page_tracker.hpp"

namespace sluice::memory {
namespace {

std::atomic<PageTracker*> active_tracker{nullptr};
std::atomic<int> threads_inside{0};
struct sigaction previous_action = {};

// Initial-exec: reading it in a signal handler must not allocate.
thread_local PageTracker::CountedAccess last_counted __attribute__((tls_model("initial-exec")));

// Nothing for the fetch of an instruction.
#if defined(__x86_64__)
std::optional<PageTracker::Access> describe_access(const siginfo_t& info, void* context) {
  constexpr greg_t kWrite = 1 << 1;
  constexpr greg_t kFetch = 1 << 4;
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if ((registers[REG_ERR] & kFetch) != 0) return std::nullopt;
  return PageTracker::Access{.address = reinterpret_cast<std::uintptr_t>(info.si_addr),
                             .instruction = static_cast<std::uintptr_t>(registers[REG_RIP]),
                             .write = (registers[REG_ERR] & kWrite) != 0};
}
#else
std::optional<PageTracker::Access> describe_access(const siginfo_t&, void*) { return std::nullopt; }
#endif

bool is_tracked(const siginfo_t& info, void* context) {
  if (info.si_code != SEGV_ACCERR) return false;
  const auto access = describe_access(info, context);
  if (!access) return false;
  threads_inside.fetch_add(1);
  PageTracker* const tracker = active_tracker.load();
  const auto touch = tracker == nullptr ? PageTracker::Touch::kForeign : tracker->touch(*access, last_counted);
  threads_inside.fetch_sub(1);
  return touch != PageTracker::Touch::kForeign;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
    return;
  }
  if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
    return;
  }
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGSEGV, &by_default, nullptr);
  if (info->si_code <= 0) ::raise(signal);  // sent by somebody: returning would not bring it again
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  if (!is_tracked(*info, context)) pass_on(signal, info, context);
  errno = error;
}

}  // namespace

bool install_fault_handler(PageTracker& tracker) {
  PageTracker* nobody = nullptr;
  if (!active_tracker.compare_exchange_strong(nobody, &tracker)) return false;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return ::sigaction(SIGSEGV, &action, &previous_action) == 0;
}

void remove_fault_handler() {
  struct sigaction present = {};
  ::sigaction(SIGSEGV, nullptr, &present);
  // Somebody who came later keeps the signal, and will pass our faults on to a handler that knows none any more.
  if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == on_fault) {
    ::sigaction(SIGSEGV, &previous_action, nullptr);
  }
  active_tracker.store(nullptr);
  while (threads_inside.load() > 0) {
  }
}

}  // namespace sluice::memory
