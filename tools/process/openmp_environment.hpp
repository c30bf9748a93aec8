// OpenMP reads its settings from the environment when the program is loaded, before main(), and some give teams another size
// than they are asked for: OMP_DYNAMIC by the load of the machine, OMP_THREAD_LIMIT whatever --threads says.
#pragma once

namespace sluice::cli {

// Takes them out and starts the program again with the same arguments; nothing has been done by then. OMP_THREAD_LIMIT goes
// on as the usual number of threads (SLUICE_THREADS). Returns where they are not set, or the system starts nothing: what needs
// more threads than there are then says so.
void settle_openmp_environment();

}  // namespace sluice::cli
