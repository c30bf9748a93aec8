// Faults that the tracker takes and those that it passes on.
#include "sluice/memory/faults/fault_handler.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/faults/fault_stack.hpp"
#include "sluice/memory/observe/page_tracker.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kPage = kSmallestChunk;

std::unique_ptr<PageTracker> start() {
  auto tracker = PageTracker::start({.reach = 16 * kPage, .threads = 1});
  EXPECT_TRUE(tracker.ok()) << tracker.error().message;
  return std::move(tracker).value();
}

void load(const std::byte* at) { (void)*static_cast<const volatile std::byte*>(at); }
void store(std::byte* at) { *static_cast<volatile std::byte*>(at) = std::byte{1}; }

std::byte* closed_page() {
  void* page = ::mmap(nullptr, as_index(kPage), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return static_cast<std::byte*>(page);
}

std::uintptr_t handler_stack = 0;

void note_stack(int, siginfo_t* info, void*) {
  handler_stack = reinterpret_cast<std::uintptr_t>(&info);
  ::mprotect(info->si_addr, as_index(kPage), PROT_READ);
}

// Generated code may use the stack pointer for data: the handler must run elsewhere. Skipped under sanitizers, which
// give every thread a signal stack before we can.
TEST(FaultHandler, FaultsAreHandledOnTheStackGivenForThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer gives threads stacks of its own";
#endif
  struct sigaction before = {};
  struct sigaction action = {};
  action.sa_sigaction = note_stack;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, &before);
  for (const bool given : {true, false}) {
    if (given) give_fault_stack();
    std::byte* const page = closed_page();  // not the tracker's: passed on, on the same stack
    {
      const auto tracker = start();
      load(page);
    }
    const int here = 0;
    const auto distance = static_cast<std::int64_t>(handler_stack - reinterpret_cast<std::uintptr_t>(&here));
    EXPECT_EQ(std::abs(distance) > kMiB, given);
    if (given) take_fault_stack();
    ::munmap(page, as_index(kPage));
  }
  ::sigaction(SIGSEGV, &before, nullptr);
}

void crash_elsewhere() {
  std::byte* const page = closed_page();
  const Arena memory = Arena::map(8 * kPage, "test").value();
  const auto tracker = start();
  const auto range = *tracker->add_range(memory.data(), memory.bytes(), kPage);
  (void)tracker->watch(range);
  store(memory.data());
  load(page);
}

TEST(FaultHandlerDeathTest, ARealFaultStillEndsTheProcess) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_DEATH(crash_elsewhere(), "SEGV");  // the sanitizer's handler was there first, and is passed the fault
#else
  EXPECT_EXIT(crash_elsewhere(), ::testing::KilledBySignal(SIGSEGV), "");
#endif
}

std::byte* faulting_page = nullptr;

void report_address(int, siginfo_t* info, void*) {
  _exit(info->si_addr == faulting_page + 5 && info->si_code == SEGV_ACCERR ? 42 : 1);
}

void crash_under_a_handler() {
  struct sigaction action = {};
  action.sa_sigaction = report_address;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
  faulting_page = closed_page();
  const auto tracker = start();
  load(faulting_page + 5);
}

TEST(FaultHandlerDeathTest, AnEarlierHandlerGetsAForeignFaultWithItsAddress) {
  EXPECT_EXIT(crash_under_a_handler(), ::testing::ExitedWithCode(42), "");
}

// Skipped under sanitizers: they own SIGSEGV, so the process ends with their report instead of by the signal.
TEST(FaultHandlerDeathTest, ASentSignalIsNotSwallowed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer reports a sent SIGSEGV in its own way";
#endif
  EXPECT_EXIT(
      {
        const auto tracker = start();
        ::raise(SIGSEGV);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST(FaultHandler, GivesTheSignalBack) {
  struct sigaction before = {};
  struct sigaction after = {};
  ::sigaction(SIGSEGV, nullptr, &before);
  start().reset();
  ::sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace sluice::memory
