// Lets a thread that only submits and reports run as soon as it is woken, although every core computes.
//
// A scheduler that is fair lets whoever runs finish its slice of some milliseconds first. A lane's thread takes microseconds
// and is woken hundreds of times a step: at the end of an op and of a transfer. Without this each of those waits for a
// core for 1.5 ms on average where two processors have three to four times as many busy threads (6.18 kernel), while
// the disk has nothing to do; with it for 0.26 ms where nice values may be lowered, else for 0.87 ms.
//
// For threads that seldom run: one that copies or computes would take from the compute threads what it gains.
#pragma once

namespace sluice {

// The calling thread, which keeps what it cannot get: a higher weight needs CAP_SYS_NICE or RLIMIT_NICE, a short slice
// Linux 6.12. Threads that it starts do not inherit it.
void wake_promptly();

}  // namespace sluice
