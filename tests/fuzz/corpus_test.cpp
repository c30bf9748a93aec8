// Every target over its corpus, and over seeded changes of it: a slice of what libFuzzer does, with any compiler.
//
//   SLUICE_FUZZ_SEED=7 sluice_fuzz_test
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "sluice/testing/random/seeded_random.hpp"
#include "sluice/testing/test_set.hpp"
#include "tests/fuzz/fuzz_targets.hpp"
#include "tests/fuzz/input_file.hpp"

namespace sluice::tests {
namespace {

using testing::SeededRandom;

std::vector<std::string> read_corpus(std::string_view target) {
  std::vector<std::string> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(SLUICE_FUZZ_CORPUS) / target)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::ranges::sort(inputs);
  return inputs;
}

// Numbers at which something ends, brackets, and bytes that are no text.
const std::vector<std::string>& tokens() {
  static const std::vector<std::string> all = {
      "0",  "-1", "1e308", "5e-324", "9223372036854775807", "-9223372036854775808", "[", "]", "{", "}", "null", "true",
      "\"", ",",  "\xff",  "4096",   "2147483648",          std::string(8, '\0')};
  return all;
}

void change(std::string& input, const std::vector<std::string>& corpus, SeededRandom& random) {
  const std::size_t at = random.between<std::size_t>(0, input.size());
  const std::size_t length = std::min(input.size() - at, random.between<std::size_t>(1, 16));
  switch (random.between(0, 6)) {
    case 0:
      input.erase(at, length);
      return;
    case 1:
      input.insert(at, random.pick(tokens()));
      return;
    case 2:
      input.replace(at, length, random.pick(tokens()));
      return;
    case 3:
      input.insert(random.between<std::size_t>(0, input.size()), input.substr(at, length));
      return;
    case 4:
      input += random.pick(corpus).substr(0, 200);
      return;
    default:
      if (at < input.size()) input[at] = static_cast<char>(random.between(0, 255));
  }
}

class FuzzTargets : public ::testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzTargets, EndWhateverTheBytes) {
  const char* const given = std::getenv("SLUICE_FUZZ_SEED");
  const std::uint64_t seed = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  const std::vector<std::string> corpus = read_corpus(GetParam().name);
  ASSERT_FALSE(corpus.empty());
  for (const std::string& input : corpus) EXPECT_NO_THROW(GetParam().run(input)) << input.substr(0, 200);
  SeededRandom random(seed);
  for (int round = 0, rounds = testing::pick_for_set(2000, 20'000, 1'000'000); round < rounds; ++round) {
    std::string input = random.pick(corpus);
    for (int changes = random.between(1, 5); changes > 0; --changes) change(input, corpus, random);
    ASSERT_NO_THROW(GetParam().run(input)) << "seed " << seed << ", round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, FuzzTargets, ::testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

// A corpus whose files are refused at their first key tests nothing.
TEST(FuzzCorpus, HoldsFilesThatAreRead) {
  const auto count_read = [](std::string_view target, auto reads) {
    const std::vector<std::string> corpus = read_corpus(target);
    return std::ranges::count_if(corpus, reads);
  };
  EXPECT_EQ(count_read("profile", is_read_as_profile), 1);
  EXPECT_EQ(count_read("accesses", is_read_as_accesses), 1);
  EXPECT_EQ(count_read("cache", is_read_as_cache), 1);
}

TEST(FuzzedPlans, AreAcceptedOftenEnough) {
  SeededRandom random(3);
  const PlanCounts before = plan_counts();
  for (int round = 0; round < 1000; ++round) {
    std::string input;
    for (int i = random.between(2, 12); i > 0; --i) input += static_cast<char>(random.between(0, 255));
    fuzz_verified_plan(input);
  }
  EXPECT_GT(plan_counts().accepted - before.accepted, 100) << "what is never accepted is never run";
}

}  // namespace
}  // namespace sluice::tests
