// Where a thread may run: within the CPUs that whoever started the program has given it (taskset, numactl, a batch system),
// which the kernel forgets as soon as a thread asks for more. The CPUs of this process are those that it had when it was
// loaded, with those that OpenMP had found when it bound the thread that loaded it.
#pragma once

namespace sluice {

// Lets the calling thread run on every CPU of this process. A thread that is started after OpenMP has bound its own
// threads inherits the CPU of the thread that started it, and would share that CPU with compute. Failure leaves a
// slower thread, not a wrong one.
void allow_every_cpu();

// Lets the calling thread, and those that it starts, run only on these of the CPUs of this process: `count` from the
// `first`, counted from 0. On every CPU where there are not so many.
void keep_to_cores(int first, int count);

// The CPUs of this process, at least 1.
int processor_count();

// The CPUs that the calling thread may run on, at least 1.
int usable_cpus();

}  // namespace sluice
