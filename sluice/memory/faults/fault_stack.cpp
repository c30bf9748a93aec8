#include "sluice/memory/faults/fault_stack.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <optional>

#include "sluice/base/check.hpp"

namespace sluice::memory {
namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 10;  // a frame with AVX-512 and AMX state is 11 KiB

class FaultStack {
 public:
  FaultStack() : memory_(::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    SLUICE_CHECK(memory_ != MAP_FAILED, "64 KiB of memory for a fault stack");
    stack_t stack = {};
    stack.ss_sp = memory_;
    stack.ss_size = kStackBytes;
    SLUICE_CHECK(::sigaltstack(&stack, &previous_) == 0, "a thread outside its signal handlers takes a stack for them");
  }
  ~FaultStack() {
    ::sigaltstack(&previous_, nullptr);
    ::munmap(memory_, kStackBytes);
  }
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;

 private:
  void* memory_;
  stack_t previous_ = {};
};

thread_local std::optional<FaultStack> fault_stack;

}  // namespace

void give_fault_stack() {
  if (!fault_stack) fault_stack.emplace();
}

void take_fault_stack() { fault_stack.reset(); }

}  // namespace sluice::memory
