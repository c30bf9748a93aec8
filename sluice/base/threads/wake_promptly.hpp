// Lets a thread that only submits and reports run as soon as it is woken, although every core computes.
//
// A scheduler that is fair lets whoever runs finish its slice of some milliseconds first. A lane's thread takes
// microseconds and is woken hundreds of times a step: at the end of an op and of a transfer. Without this each of those
// waited for a core for 0.8 to 1.5 ms on average beside two threads that never sleep (kernel 6.18), while the disk had
// nothing to do; with a short slice for 0.4 to 0.9 ms, and with a higher weight too for 0.3 to 0.4 ms.
//
// For threads that seldom run: one that copies or computes would take from the compute threads what it gains.
#pragma once

namespace sluice {

// The calling thread, which keeps what it cannot get: a higher weight needs CAP_SYS_NICE or RLIMIT_NICE, a short slice
// Linux 6.12. Threads that it starts do not inherit it.
void wake_promptly();

}  // namespace sluice
