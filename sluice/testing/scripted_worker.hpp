// A worker (experiment/worker.hpp) that computes nothing: a shell script that answers requests as it is told. Each step
// is noted in a file, so that a test sees who took which turn.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::testing {

struct WorkerScript {
  double step_seconds = 1;
  std::string loss_bits = "1065353216";  // 1.0
  std::string parameter_hash = "00ff";
  std::string at_step = {};  // shell commands before a step's answer
};

class ScriptedWorkers {
 public:
  // `scripts`: by the name of the plan file in the setup, without its folder and extension. Workers with other plan
  // files do what `others` says. Answers are for a machine with two links. `folder` must exist and outlive this object.
  ScriptedWorkers(const std::filesystem::path& folder, const WorkerScript& others,
                  const std::map<std::string, WorkerScript>& scripts = {});

  const std::filesystem::path& program() const { return program_; }
  std::vector<std::string> turns() const;  // plans' names in the order of their steps; "restart NAME" of restarts

 private:
  std::filesystem::path program_;
  std::filesystem::path turns_;
};

}  // namespace sluice::testing
