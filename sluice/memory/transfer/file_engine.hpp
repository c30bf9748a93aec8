// The engine between memory and a file: io_uring; where this kernel or container has none, reads and writes that block the
// thread that drives it, and notes() says so.
#pragma once

#include <memory>

#include "sluice/base/result.hpp"
#include "sluice/memory/files/spill_file.hpp"
#include "sluice/memory/transfer/uring_engine.hpp"

namespace sluice::memory {

// `config`: its descriptor and block are the file's. `file` outlives the engine.
Result<std::unique_ptr<TransferEngine>> make_file_engine(const SpillFile& file, UringEngine::Config config);

}  // namespace sluice::memory
