// The functions of Open MPI that we call, and the objects that its header's names stand for.
#pragma once

#include <mpi.h>

#include "sluice/base/result.hpp"

namespace sluice::exec {

struct OpenMpi {
  decltype(&MPI_Init_thread) init = nullptr;
  decltype(&MPI_Finalize) finalize = nullptr;
  decltype(&MPI_Abort) abort = nullptr;
  decltype(&MPI_Comm_size) size = nullptr;
  decltype(&MPI_Comm_rank) rank = nullptr;
  decltype(&MPI_Comm_dup) duplicate = nullptr;
  decltype(&MPI_Alltoallv) exchange = nullptr;
  decltype(&MPI_Allgatherv) gather = nullptr;
  decltype(&MPI_Bcast) share = nullptr;
  MPI_Comm world = nullptr;
  MPI_Datatype bytes = nullptr;
};

// Loaded once. kUnsupported with what the loader says.
Result<const OpenMpi*> open_mpi();

}  // namespace sluice::exec
