#include "sluice/memory/transfer/file_engine.hpp"

#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/transfer/copy_engine.hpp"

namespace sluice::memory {

Result<std::unique_ptr<TransferEngine>> make_file_engine(const SpillFile& file, UringEngine::Config config) {
  config.descriptor = file.descriptor();
  config.block = file.block();
  auto ring = UringEngine::create(config);
  if (ring.ok()) return std::unique_ptr<TransferEngine>(std::move(ring).value());
  if (ring.error().code != ErrorCode::kUnsupported) return ring.error();
  const bool writes = config.direction == UringEngine::Direction::kToFile;
  std::string note = ring.error().message + "; file transfers block their lane instead";
  auto move = [&file, config = std::move(config), writes](Bytes from, Bytes to, Bytes bytes) {
    const auto size = as_index(bytes);
    return writes ? file.write(to, {config.memory_at(from), size}) : file.read(from, {config.memory_at(to), size});
  };
  return std::unique_ptr<TransferEngine>(
      std::make_unique<CopyEngine>(std::move(move), std::vector<std::string>{std::move(note)}));
}

}  // namespace sluice::memory
