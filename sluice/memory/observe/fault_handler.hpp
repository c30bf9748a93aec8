// The process's SIGSEGV handler while a PageTracker is there.
//
// A fault that the tracker does not know goes to the handler that had the signal before. If there was none, this
// handler restores the default action and the instruction faults again: the process ends as it would have without a
// tracker, and the core file has the address of that instruction.
#pragma once

namespace sluice::memory {

class PageTracker;

// False when another tracker has the handler.
bool install_fault_handler(PageTracker& tracker);

// Gives the signal back and returns when no thread is in the handler any more.
void remove_fault_handler();

}  // namespace sluice::memory
