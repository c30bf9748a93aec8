#include "sluice/experiment/worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sluice/memory/machine_json.hpp"

namespace sluice::experiment {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// What a worker answers to the line, after which it goes on.
std::string error_of(const std::string& line) {
  std::istringstream requests(line + "\n{\"command\": \"dance\"}\n");
  std::ostringstream answers;
  serve_worker(requests, answers);
  std::istringstream lines(answers.str());
  std::string first;
  std::string second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_EQ(json::parse(second).at("message"), "unknown request 'dance'");
  const json answer = json::parse(first);
  EXPECT_EQ(answer.at("ok"), false);
  EXPECT_EQ(answer.at("code"), static_cast<int>(ErrorCode::kBadInput));
  return answer.at("message");
}

TEST(Worker, SaysWhatIsWrongWithARequest) {
  EXPECT_THAT(error_of("{\"command\": \"step\""), HasSubstr("not JSON, or cut short at byte 19"));
  EXPECT_EQ(error_of("[]"), "/: expected an object, found []");
  EXPECT_EQ(error_of("{}"), "/command: missing");
  EXPECT_EQ(error_of(R"({"command": 3})"), "/command: expected text, found 3");
  EXPECT_THAT(error_of(R"({"command": "step", "step": 0, "learning_rate": 0.1})"), HasSubstr("was not set up"));
  EXPECT_THAT(error_of(R"({"command": "finish"})"), HasSubstr("was not set up"));
}

TEST(Worker, NamesThePlaceWithinASetup) {
  const json whole = {{"command", "setup"},
                      {"workload", {{"model", "resnet20"}}},
                      {"machine", memory::machine_to_json({})},
                      {"plan", "/none.json"},
                      {"data", "synthetic"},
                      {"seed", 1}};
  const auto with = [&](const char* pointer, const json& value) {
    json document = whole;
    document[json::json_pointer(pointer)] = value;
    return error_of(document.dump());
  };
  EXPECT_EQ(with("/workload/batch", "many"), R"(/workload/batch: expected a whole number, found "many")");
  EXPECT_EQ(with("/workload/modle", "vgg16"), "/workload: a workload has no field 'modle'");
  EXPECT_EQ(with("/machine/threads", nullptr), "/machine/threads: expected a whole number, found null");
  EXPECT_EQ(with("/machine/tiers", {{{"name", "dram"}}}), "/machine/tiers/0/kind: missing");
  EXPECT_EQ(with("/seed", -1), "/seed: expected a number within range, found -1");
}

}  // namespace
}  // namespace sluice::experiment
