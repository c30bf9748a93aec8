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

void say(nlohmann::json& document, const char* object, const char* key, const std::string& text) {
  if (object[0] == '\0') {
    document[key] = text;
  } else if (document.contains(object) && document[object].is_object()) {
    document[object][key] = text;
  }
}

// The document as one of the tiny step and its machine: else it is refused before anything in it is read.
Result<nlohmann::json> of_the_tiny_step(std::string_view input) {
  SLUICE_ASSIGN(nlohmann::json document, parse_json(input));
  if (!document.is_object()) return document;
  say(document, "graph", "fingerprint", tiny().graph.fingerprint());
  say(document, "machine", "fingerprint", tiny().machine.compute_fingerprint());
  say(document, "", "graph_fingerprint", tiny().graph.fingerprint());
  say(document, "", "compute_fingerprint", tiny().machine.compute_fingerprint());
  if (document.value("format", nlohmann::json()) == "sluice-profile")
    document["version"] = profile::kProfileFormatVersion;
  return document;
}

void check_time(Seconds seconds) { SLUICE_CHECK(std::isfinite(seconds) && seconds >= 0, "a time"); }

}  // namespace

bool is_read_as_profile(std::string_view input) {
  const Result<nlohmann::json> document = of_the_tiny_step(input);
  if (!document.ok()) return false;
  const Result<profile::Profile> profile = profile::profile_from_json(*document, tiny().graph, tiny().machine);
  if (!profile.ok()) return false;
  for (graph::OpIndex op = 0; op < tiny().graph.op_count(); ++op) check_time(profile->op_seconds.at(op));
  return true;
}

bool is_read_as_cache(std::string_view input) {
  input_file(input, profile::ProfileCache::path_for("cpu", "cache").filename().string());
  const profile::ProfileCache cache = profile::ProfileCache::open("cpu", input_folder());
  const profile::Profile profile = profile::known_profile(tiny().graph, tiny().machine, cache);
  for (const Seconds seconds : profile.op_seconds) check_time(seconds);
  for (const char* key : {"up", "down"}) {
    const auto link = cache.find_link(key);
    if (!link || link->is_of_tier()) continue;
    SLUICE_CHECK(memory::are_requests(link->request_bytes, link->queue_depth), "requests that an engine takes");
    check_time(static_cast<double>(kGiB) / link->bandwidth + link->latency);
  }
  return cache.notes().empty() && cache.op_count() > 0;
}

bool is_read_as_accesses(std::string_view input) {
  const Result<nlohmann::json> document = of_the_tiny_step(input);
  const std::filesystem::path path = input_file(document.ok() ? document->dump() : std::string(input));
  const auto accesses = profile::read_access_profile(path, tiny().graph, tiny().machine);
  SLUICE_CHECK(!accesses.ok() || accesses->ops.size() == tiny().graph.ops().size(), "counts of every op");
  return accesses.ok();
}

void fuzz_profile(std::string_view input) { static_cast<void>(is_read_as_profile(input)); }
void fuzz_cache(std::string_view input) { static_cast<void>(is_read_as_cache(input)); }
void fuzz_accesses(std::string_view input) { static_cast<void>(is_read_as_accesses(input)); }

void fuzz_machine(std::string_view input) {
  const Result<nlohmann::json> document = parse_json(input);
  if (!document.ok()) return;
  const Result<memory::Machine> machine = memory::machine_from_json(*document);
  if (!machine.ok()) return;
  const Result<memory::Machine> again = memory::machine_from_json(memory::machine_to_json(*machine));
  SLUICE_CHECK(again.ok() && again->fingerprint() == machine->fingerprint(), "written and read again");
}

}  // namespace sluice::tests
