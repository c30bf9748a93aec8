// A temporary folder for the plans that workers read; gone with the object.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice::experiment {

class PlanFolder {
 public:
  static Result<std::unique_ptr<PlanFolder>> create();  // kIo with the path
  ~PlanFolder();
  PlanFolder(const PlanFolder&) = delete;
  PlanFolder& operator=(const PlanFolder&) = delete;

  std::filesystem::path file(std::string_view planner) const;

 private:
  explicit PlanFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace sluice::experiment
