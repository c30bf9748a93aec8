// Ranks over MPI: the processes that `mpirun -n 4 sluice ...` starts.
//
// Open MPI is opened when a launcher has started this process, and not linked: most runs have one rank, and need no MPI.
// A process that ends with an error ends the others (end_all_ranks); one that dies makes the launcher end them, and so does
// an error of MPI itself.
#pragma once

#include <memory>

#include "sluice/kernels/ranks.hpp"

namespace sluice::exec {

// The ranks that were started together; nullptr where no launcher did, or it started one. One object a process, as long as
// it may call MPI. kUnsupported: this build or this machine has no Open MPI, or MPI lacks what several threads need.
Result<std::unique_ptr<kernels::Ranks>> open_mpi_ranks();

// Whether Open MPI could be opened here; kUnsupported with what the loader says.
Status find_mpi();

// Ends the processes of all ranks, this one too; returns where there is one rank.
void end_all_ranks(int exit_code);

}  // namespace sluice::exec
