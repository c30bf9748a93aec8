// What is measured and kept: profiles, the cache, access counts, machines.
#include <cmath>

#include "sluice/base/json_file.hpp"
#include "sluice/memory/machine_json.hpp"
#include "sluice/memory/requests.hpp"
#include "sluice/profile/access_profile_file.hpp"
#include "sluice/profile/op_estimate.hpp"
#include "sluice/profile/profile_cache.hpp"
#include "sluice/profile/profile_file.hpp"
#include "sluice/testing/tiny_step.hpp"
#include "tests/fuzz/fuzz_targets.hpp"
#include "tests/fuzz/input_file.hpp"

namespace sluice::tests {
namespace {

const testing::TinyStep& tiny() {
  static const testing::TinyStep step = testing::tiny_step();
  return step;
}

void check_time(Seconds seconds) { SLUICE_CHECK(std::isfinite(seconds) && seconds >= 0, "a time"); }

}  // namespace

void fuzz_profile(std::string_view input) {
  const Result<nlohmann::json> document = parse_json(input);
  if (!document.ok()) return;
  const Result<profile::Profile> profile = profile::profile_from_json(*document, tiny().graph, tiny().machine);
  if (!profile.ok()) return;
  for (graph::OpIndex op = 0; op < tiny().graph.op_count(); ++op) check_time(profile->op_seconds.at(op));
}

void fuzz_cache(std::string_view input) {
  input_file(input, profile::ProfileCache::path_for("cpu", "").filename().string());
  const profile::ProfileCache cache = profile::ProfileCache::open("cpu", input_folder());
  const profile::Profile profile = profile::known_profile(tiny().graph, tiny().machine, cache);
  for (const Seconds seconds : profile.op_seconds) check_time(seconds);
  for (const char* key : {"up", "down"}) {
    const auto link = cache.find_link(key);
    if (!link || link->is_of_tier()) continue;
    SLUICE_CHECK(memory::are_requests(link->request_bytes, link->queue_depth), "requests that an engine takes");
    check_time(static_cast<double>(kGiB) / link->bandwidth + link->latency);
  }
}

void fuzz_accesses(std::string_view input) {
  static_cast<void>(profile::read_access_profile(input_file(input), tiny().graph, tiny().machine));
}

void fuzz_machine(std::string_view input) {
  const Result<nlohmann::json> document = parse_json(input);
  if (!document.ok()) return;
  const Result<memory::Machine> machine = memory::machine_from_json(*document);
  if (!machine.ok()) return;
  const Result<memory::Machine> again = memory::machine_from_json(memory::machine_to_json(*machine));
  SLUICE_CHECK(again.ok() && again->fingerprint() == machine->fingerprint(), "written and read again");
}

}  // namespace sluice::tests
