#include "sluice/testing/scripted_worker.hpp"

#include <fmt/format.h>

#include <fstream>

namespace sluice::testing {
namespace {

std::string assignments(const WorkerScript& script) {
  return fmt::format("seconds={}; bits={}; hash={}; at_step='{}'", script.step_seconds, script.loss_bits,
                     script.parameter_hash, script.at_step);
}

}  // namespace

ScriptedWorkers::ScriptedWorkers(const std::filesystem::path& folder, const WorkerScript& others,
                                 const std::map<std::string, WorkerScript>& scripts)
    : program_(folder / "worker.sh"), turns_(folder / "turns") {
  std::ofstream file(program_);
  file << "#!/bin/sh\nread -r setup\nname=${setup##*\\\"plan\\\":\\\"}; name=${name%%\\\"*}; name=${name##*/}; "
          "name=${name%.json}\ncase $name in\n";
  for (const auto& [name, script] : scripts) file << name << ") " << assignments(script) << " ;;\n";
  file << "*) " << assignments(others) << " ;;\nesac\n"
       << R"(echo '{"ok": true, "notes": []}'
while read -r request; do
  case $request in
    *'"step"'*) eval "$at_step"; echo "$name" >> ')"
       << turns_.string() << R"('
      echo "{\"ok\": true, \"loss_bits\": $bits, \"step_seconds\": $seconds, \"stall_seconds\": 0, \"link_bytes\": [0, 0], \"raw_link_bytes\": [0, 0]}" ;;
    *'"restart"'*) echo "restart $name" >> ')"
       << turns_.string() << R"('; echo '{"ok": true}' ;;
    *) echo "{\"ok\": true, \"parameter_hash\": \"$hash\", \"peak_rss_bytes\": 1, \"locality\": null, \"policy_figures\": []}" ;;
  esac
done
)";
  file.close();
  std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
}

std::vector<std::string> ScriptedWorkers::turns() const {
  std::vector<std::string> turns;
  std::ifstream file(turns_);
  for (std::string line; std::getline(file, line);) turns.push_back(line);
  return turns;
}

}  // namespace sluice::testing
