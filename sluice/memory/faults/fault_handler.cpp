#include "sluice/memory/faults/fault_handler.hpp"

#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>

namespace sluice::memory {
namespace {

std::array<std::atomic<FaultAnswerer*>, 256> answerers{};
std::atomic<int> threads_inside{0};
struct sigaction previous_action = {};
std::mutex changing;  // who is there; never in the handler

// Initial-exec: reading it in a signal handler must not allocate.
thread_local bool passing_on __attribute__((tls_model("initial-exec"))) = false;

// Nothing for the fetch of an instruction.
#if defined(__x86_64__)
constexpr bool kKnowsAccesses = true;
std::optional<MemoryAccess> describe_access(const siginfo_t& info, void* context) {
  constexpr greg_t kWrite = 1 << 1;
  constexpr greg_t kFetch = 1 << 4;
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if ((registers[REG_ERR] & kFetch) != 0) return std::nullopt;
  return MemoryAccess{.address = reinterpret_cast<std::uintptr_t>(info.si_addr),
                      .instruction = static_cast<std::uintptr_t>(registers[REG_RIP]),
                      .write = (registers[REG_ERR] & kWrite) != 0};
}
#else
constexpr bool kKnowsAccesses = false;
std::optional<MemoryAccess> describe_access(const siginfo_t&, void*) { return std::nullopt; }
#endif

bool is_answered(const siginfo_t& info, void* context) {
  if (info.si_code != SEGV_ACCERR) return false;
  const auto access = describe_access(info, context);
  if (!access) return false;
  threads_inside.fetch_add(1);
  const bool answered = std::ranges::any_of(answerers, [&](const std::atomic<FaultAnswerer*>& each) {
    FaultAnswerer* const answerer = each.load();
    return answerer != nullptr && answerer->answer_fault(*access);
  });
  threads_inside.fetch_sub(1);
  return answered;
}

// Whoever took the signal behind us may pass on to us in turn.
void pass_on(int signal, siginfo_t* info, void* context) {
  if (!passing_on && (previous_action.sa_flags & SA_SIGINFO) != 0) {
    passing_on = true;
    previous_action.sa_sigaction(signal, info, context);
    passing_on = false;
    return;
  }
  if (!passing_on && previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
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
  if (!is_answered(*info, context)) pass_on(signal, info, context);
  errno = error;
}

bool is_ours() {
  struct sigaction present = {};
  ::sigaction(SIGSEGV, nullptr, &present);
  return (present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == on_fault;
}

bool take_signal() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return ::sigaction(SIGSEGV, &action, &previous_action) == 0;
}

bool anybody() {
  return std::ranges::any_of(answerers, [](const auto& each) { return each.load() != nullptr; });
}

}  // namespace

bool add_fault_answerer(FaultAnswerer& answerer) {
  const std::lock_guard lock(changing);
  if (!kKnowsAccesses) return false;
  const bool first = !anybody();
  for (auto& each : answerers) {
    FaultAnswerer* nobody = nullptr;
    if (each.compare_exchange_strong(nobody, &answerer)) return !first || is_ours() || take_signal();
  }
  return false;
}

void remove_fault_answerer(FaultAnswerer& answerer) {
  const std::lock_guard lock(changing);
  for (auto& each : answerers) {
    FaultAnswerer* expected = &answerer;
    each.compare_exchange_strong(expected, nullptr);
  }
  // Somebody who came later keeps the signal, and will pass our faults on to a handler that knows none any more.
  if (!anybody() && is_ours()) ::sigaction(SIGSEGV, &previous_action, nullptr);
  while (threads_inside.load() > 0) {
  }
}

void keep_fault_handler() {
  const std::lock_guard lock(changing);
  if (anybody() && !is_ours()) take_signal();
}

}  // namespace sluice::memory
