// The process's SIGSEGV handler while a PageTracker is there.
//
// Faults that the tracker does not know go to whoever had the signal before. Where nobody had, the handler steps aside
// and the instruction faults again: the process ends as it would have, with its own address in the core file.
#pragma once

namespace sluice {

class PageTracker;

// False when another tracker has the handler.
bool install_fault_handler(PageTracker& tracker);

// Gives the signal back and returns when no thread is in the handler any more.
void remove_fault_handler();

}  // namespace sluice
