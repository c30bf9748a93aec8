// A stack of its own for a thread's fault handler.
//
// It is needed wherever generated code runs on watched memory. oneDNN's kernels use the stack pointer as one more
// register for data. When such code faults, the kernel of the operating system writes its signal frame wherever that
// register points (seen: a corrupted heap). Every thread that computes on watched memory calls give_fault_stack()
// first. When the profile is over it calls take_fault_stack(), or ends.
#pragma once

namespace sluice::memory {

// Both are for the calling thread. If the thread already had an alternate signal stack, take_fault_stack() gives it
// back. Costs 64 KiB of address space. Calling either of them twice does the same as calling it once.
void give_fault_stack();
void take_fault_stack();

}  // namespace sluice::memory
