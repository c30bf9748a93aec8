// Where a thread that is no compute thread may run.
#pragma once

namespace sluice {

// Lets the calling thread run on every CPU of this process. A thread that is started after OpenMP has bound its own
// threads inherits the CPU of the thread that started it, and would share that CPU with compute. Failure leaves a
// slower thread, not a wrong one.
void allow_every_cpu();

}  // namespace sluice
