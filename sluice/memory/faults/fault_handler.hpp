// The process's SIGSEGV handler, for whoever answers faults of memory that is protected on purpose.
//
// A fault that nobody answers goes to the handler that had the signal before. If there was none, this handler restores the
// default action and the instruction faults again: the process ends as it would have without us, and the core file has the
// address of that instruction.
//
// Answers are given in a signal handler, on the stack of the thread that faulted (fault_stack.hpp), between two instructions of
// any code that touches the memory, but of none other.
#pragma once

#include <cstdint>

namespace sluice::memory {

struct MemoryAccess {
  std::uintptr_t address = 0;
  std::uintptr_t instruction = 0;
  bool write = false;
  bool operator==(const MemoryAccess&) const = default;
};

class FaultAnswerer {
 public:
  // Whether the access is to be tried again; false where the memory is not ours.
  virtual bool answer_fault(const MemoryAccess& access) = 0;

 protected:
  ~FaultAnswerer() = default;
};

// False off x86-64, and where there are 256 already.
bool add_fault_answerer(FaultAnswerer& answerer);

// Returns when no thread is inside any more. The last one gives the signal back.
void remove_fault_answerer(FaultAnswerer& answerer);

// Takes the signal again where somebody else has taken it since, who is then asked behind us.
void keep_fault_handler();

}  // namespace sluice::memory
