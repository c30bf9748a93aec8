#include "sluice/base/json_file.hpp"
#include "sluice/policies/run_file.hpp"
#include "sluice/testing/tiny_step.hpp"
#include "tests/fuzz/accepted_plan.hpp"
#include "tests/fuzz/fuzz_targets.hpp"

namespace sluice::tests {

void fuzz_plan(std::string_view input) {
  static const testing::TinyStep step = testing::tiny_step();
  const Result<nlohmann::json> document = parse_json(input);
  if (!document.ok()) return;
  const Result<policies::Run> run = policies::run_from_json(*document);
  if (!run.ok()) return;
  verify_and_run(step.graph, step.machine, policies::plan_of(*run));
}

}  // namespace sluice::tests
