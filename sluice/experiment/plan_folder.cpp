#include "sluice/experiment/plan_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace sluice::experiment {

Result<std::unique_ptr<PlanFolder>> PlanFolder::create() {
  std::string pattern = (std::filesystem::temp_directory_path() / "sluice-plans-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return Error{ErrorCode::kIo, fmt::format("cannot make a folder for plans at {}", pattern)};
  }
  return std::unique_ptr<PlanFolder>(new PlanFolder(pattern));
}

PlanFolder::~PlanFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path PlanFolder::file(std::string_view planner) const {
  return path_ / fmt::format("{}.json", planner);
}

}  // namespace sluice::experiment
