// A stack of its own for a thread's fault handler.
//
// Needed wherever generated code runs on watched memory: oneDNN's kernels use the stack pointer as one more register
// for data, and a fault there would have the kernel push its signal frame over whatever that points at (seen: a
// corrupted heap). Every thread that computes on watched memory calls give_fault_stack() first, and take_fault_stack()
// (or ends) when the profile is over.
#pragma once

namespace sluice {

// For the calling thread; an alternate signal stack that it has already comes back with take_fault_stack(). Costs 64
// KiB of address space. Calling it twice is calling it once.
void give_fault_stack();
void take_fault_stack();

}  // namespace sluice
