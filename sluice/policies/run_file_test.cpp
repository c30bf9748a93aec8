// Runs in files: what is written is read, and what no policy could be is refused with its place.
#include "sluice/policies/run_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/plan/plan_file.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::policies {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class RunFileTest : public ::testing::Test {
 protected:
  // A plan that moves nothing.
  RunFileTest() {
    plan_.graph_name = step_.graph.name;
    plan_.planner = "um";
    plan_.budgets = plan_.arena_bytes = {kMiB, 0};
    plan_.ops.resize(step_.graph.ops().size());
  }

  json document_of(std::string_view policy) {
    return run_to_json(step_.graph, run_under(choose_policy(policy, 7 * kMiB).value(), plan_));
  }

  static std::string error_of(const json& document) {
    const Result<policies::Run> run = run_from_json(document);
    return run.ok() ? "no error" : run.error().message;
  }

  testing::TinyStep step_ = testing::tiny_step();
  plan::Plan plan_;
};

TEST_F(RunFileTest, KeepsWhatDecides) {
  const policies::Run planned = run_from_json(run_to_json(step_.graph, step_.plan)).value();
  ASSERT_TRUE(is_planned(planned));
  EXPECT_EQ(plan_of(planned).migrations, step_.plan.migrations);

  const policies::Run pages = run_from_json(document_of("um:fault=5e-05:page=2MiB")).value();
  const auto* um = std::get_if<PagesRun>(&pages);
  ASSERT_NE(um, nullptr);
  EXPECT_EQ(um->policy.entry, find_policy("um"));
  EXPECT_EQ(um->policy.tuning.page_bytes, 2 * kMiB);
  EXPECT_EQ(um->policy.tuning.fault_seconds, 5e-5);
  EXPECT_EQ(um->policy.tuning.fault_bytes, find_policy("um")->pages->defaults.fault_bytes);
  EXPECT_EQ(usable_fast_bytes(pages), 7 * kMiB);
  EXPECT_EQ(fast_arena_bytes(pages), kMiB) << "data stay in fast memory";
  EXPECT_EQ(plan_of(pages).planner, "um");

  const policies::Run dtr = run_from_json(document_of("dtr")).value();
  ASSERT_TRUE(std::holds_alternative<DtrRun>(dtr));
  EXPECT_EQ(fast_arena_bytes(dtr), 7 * kMiB);
}

TEST_F(RunFileTest, HasThePolicyBesideThePlan) {
  EXPECT_FALSE(run_to_json(step_.graph, plan_).contains("policy"));
  EXPECT_EQ(document_of("um:page=2MiB")["policy"],
            json::parse(R"({"name": "um", "settings": [{"name": "page", "value": 2097152}], "fast_bytes": 7340032})"));
  json without = document_of("ial");
  without.erase("policy");
  EXPECT_TRUE(plan::plan_from_json(without).ok());
}

TEST_F(RunFileTest, NamesWhatIsWrong) {
  const json whole = document_of("um:page=8192:fault=5e-05");
  ASSERT_EQ(error_of(whole), "no error");
  const auto with = [&](const char* pointer, const json& value) {
    json document = whole;
    document[json::json_pointer(pointer)] = value;
    return error_of(document);
  };
  EXPECT_EQ(with("/policy", "um"), "/policy: expected an object, found \"um\"");
  EXPECT_EQ(with("/policy/name", 3), "/policy/name: expected text, found 3");
  EXPECT_THAT(with("/policy/name", "oracle"), HasSubstr("/policy/name: unknown policy 'oracle'"));
  EXPECT_EQ(with("/policy/name", "dtr"), "/policy/settings: dtr has none");
  EXPECT_EQ(with("/policy/fast_bytes", "much"), "/policy/fast_bytes: expected a whole number, found \"much\"");
  EXPECT_EQ(with("/policy/fast_bytes", 0), "/policy/fast_bytes: a policy needs some fast memory");
  EXPECT_THAT(with("/policy/settings/0/name", "colour"), HasSubstr("/policy/settings/0/name: no setting 'colour'"));
  EXPECT_THAT(with("/policy/settings/0/value", 0.5), HasSubstr("/policy/settings/0/value: 0.5 is not a whole number"));
  EXPECT_EQ(with("/policy/settings/1/value", "2MiB"), "/policy/settings/1/value: expected a number, found \"2MiB\"");
  EXPECT_THAT(with("/policy/settings/1/value", 1e300), HasSubstr("/policy/settings/1/value"));
  json unnamed = whole;
  unnamed["policy"]["settings"][0].erase("name");
  EXPECT_EQ(error_of(unnamed), "/policy/settings/0/name: missing");
}

TEST_F(RunFileTest, APolicyDecidesWhereNothingIsDecidedBefore) {
  plan_ = step_.plan;
  EXPECT_THAT(error_of(document_of("um")), HasSubstr("/policy: a step under a policy has everything in fast memory"));
  plan_.migrations.clear();
  plan_.residencies.clear();
  EXPECT_EQ(error_of(document_of("um")), "no error");
  plan_.ops[0].processor = 1;
  EXPECT_THAT(error_of(document_of("um")), HasSubstr("plan again"));
}

TEST_F(RunFileTest, NamesTheFile) {
  EXPECT_THAT(read_run("/nowhere/run.json").error().message, HasSubstr("/nowhere/run.json"));
}

}  // namespace
}  // namespace sluice::policies
