#include "sluice/kernels/cuda/tuning.hpp"

#include <system_error>

#include "sluice/base/atomic_file.hpp"
#include "sluice/base/cache_folder.hpp"
#include "sluice/base/hash.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"

namespace sluice::kernels::cuda {

TunedOrders::TunedOrders(const std::string& machine) : file_(cache_folder()) {
  if (!file_.empty()) file_ /= "gpu-" + Hasher().add(std::string_view(machine)).hex() + ".json";
  read();
}

std::optional<std::vector<std::string>> TunedOrders::find(const std::string& key) const {
  const auto found = orders_.find(key);
  if (found == orders_.end()) return std::nullopt;
  return found->second;
}

// What another process has written meanwhile stays: it may have computed by it.
bool TunedOrders::keep(const std::string& key, const std::vector<std::string>& names) {
  read();
  orders_.try_emplace(key, names);
  return write();
}

// A file that cannot be read is as good as none.
void TunedOrders::read() {
  const Result<nlohmann::json> document = read_json_file(file_);
  if (!document.ok()) return;
  std::map<std::string, std::vector<std::string>> there;
  if (!JsonReader(*document).read("orders", there).ok()) return;
  for (auto& [key, names] : there) orders_.insert_or_assign(key, std::move(names));
}

bool TunedOrders::write() const {
  if (file_.empty()) return false;
  std::error_code failure;
  std::filesystem::create_directories(file_.parent_path(), failure);
  return write_file(file_, nlohmann::json{{"orders", orders_}}.dump(1)).ok();
}

}  // namespace sluice::kernels::cuda
