#include "sluice/exec/ranks/open_mpi.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace sluice::exec {
namespace {

constexpr const char* kLibrary = "libmpi.so.40";  // Debian 12's

Error lacks(const char* what) {
  return Error{ErrorCode::kUnsupported,
               fmt::format("started by an MPI launcher, but {}: install Open MPI (Debian's openmpi-bin), or run one "
                           "process without the launcher",
                           what)};
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Result<OpenMpi> load() {
  // Open MPI's own parts look its names up among the global ones.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return lacks(dlerror());
  OpenMpi mpi;
  const bool complete = find(library, "MPI_Init_thread", mpi.init) && find(library, "MPI_Finalize", mpi.finalize) &&
                        find(library, "MPI_Abort", mpi.abort) && find(library, "MPI_Comm_size", mpi.size) &&
                        find(library, "MPI_Comm_rank", mpi.rank) && find(library, "MPI_Comm_dup", mpi.duplicate) &&
                        find(library, "MPI_Alltoallv", mpi.exchange) && find(library, "MPI_Allgatherv", mpi.gather) &&
                        find(library, "MPI_Bcast", mpi.share) && find(library, "ompi_mpi_comm_world", mpi.world) &&
                        find(library, "ompi_mpi_byte", mpi.bytes);
  if (!complete) return lacks(dlerror());
  return mpi;
}

}  // namespace

Result<const OpenMpi*> open_mpi() {
  static const Result<OpenMpi> loaded = load();
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

}  // namespace sluice::exec
