#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/testing/float_bits.hpp"
#include "sluice/train/plan_changes/start.hpp"
#include "sluice/train/planning/estimated_profile.hpp"

namespace sluice::train {
namespace {

using ::testing::ElementsAre;

constexpr float kRate = 0.05F;
constexpr std::int64_t kSteps = 9;

// Proposes plans one after the other, each for some steps, and then keeps the one it was told to like best.
class ScriptedSearch : public planners::PlanSearch {
 public:
  struct Script {
    std::vector<plan::Plan> plans;
    std::size_t best = 0;
    int steps_each = 1;
  };
  ScriptedSearch(Script script, std::vector<planners::StepObservation>* seen)
      : script_(std::move(script)), seen_(seen) {}

  const plan::Plan& plan() const override { return done() ? best() : script_.plans[present()]; }
  bool done() const override { return present() == script_.plans.size(); }
  void observe(const planners::StepObservation& observation) override {
    EXPECT_FALSE(done());
    seen_->push_back(observation);
    ++observed_;
  }
  const plan::Plan& best() const override { return script_.plans[std::min(script_.best, present())]; }
  planners::SearchReport report() const override { return {static_cast<int>(observed_), 2, "scripted"}; }

 private:
  std::size_t present() const { return observed_ / as_index(script_.steps_each); }
  Script script_;
  std::vector<planners::StepObservation>* seen_;
  std::size_t observed_ = 0;
};

Workload workload_of(const std::string& model, models::ModelOptions shape) {
  return build_workload({.model = model, .shape = shape, .threads = 1}).value();
}

// A small network on a machine, and several plans for one budget of it.
class PlanTrialsTest : public ::testing::TestWithParam<std::string> {
 protected:
  explicit PlanTrialsTest(Workload workload = workload_of("resnet20", {.batch = 4}),
                          const std::string& tier = GetParam())
      : workload_(std::move(workload)),
        machine_(*memory::make_machine({.threads = 1, .slow = {{tier}}, .spill_path = ::testing::TempDir()})),
        profile_(estimated_profile(workload_.graph(), machine_)),
        asked_(*budgeted_request(workload_, machine_, profile_, "sentinel", {parse_memory_size("60%").value()})) {
    for (const auto& [planner, fast] : {std::pair("sentinel", "60%"), std::pair("on-demand", "60%"),
                                        std::pair("sentinel", "45%"), std::pair("on-demand", "45%")}) {
      plans_.push_back(plan_workload(workload_, machine_, profile_, planner, {*parse_memory_size(fast)}).value());
      plans_.back().budgets = asked_.request.budgets;
    }
  }

  std::unique_ptr<Session> start_session(const SessionOptions& options = {}) {
    return Session::create(workload_, machine_, plans_[0], options).value();
  }

  PlannedStart start_with(ScriptedSearch::Script script) {
    return {script.plans.front(), std::make_unique<BudgetedRequest>(asked_),
            std::make_unique<ScriptedSearch>(std::move(script), &seen_)};
  }

  std::unique_ptr<WatchedTraining> trials_of(Session& session, ScriptedSearch::Script script,
                                             std::optional<std::int64_t> most_trials = std::nullopt) {
    return try_plans(session, start_with(std::move(script)), {"sentinel", most_trials});
  }

  // Notes what each step was; the parameters' hash after them.
  std::string run(Training& training, Session& session, std::int64_t first, std::int64_t end) {
    for (std::int64_t step = first; step < end; ++step) {
      StepOutcome outcome = training.run_step(step, kRate).value();
      losses_.push_back(outcome.loss);
      variants_.push_back(outcome.variant);
      traces_.push_back(std::move(outcome.trace));
      running_.push_back(session.plan().migrations);
    }
    return session.hash_parameters().value();
  }

  void expect_same_without_trials(const std::string& hash) {
    const std::vector<float> losses = std::exchange(losses_, {});
    ASSERT_NE(losses.front(), losses.back());
    const auto session = start_session();
    EXPECT_EQ(run(*session, *session, 0, std::ssize(losses)), hash);
    EXPECT_EQ(testing::bits_of(losses), testing::bits_of(losses_));
  }

  // The same plan but for tensors that lie far out in the slow tier: sound, and more than any machine has.
  plan::Plan too_large() {
    plan::Plan plan = plans_[0];
    for (plan::Residency& residency : plan.residencies) {
      if (residency.tier == 1) residency.offset += Bytes{1} << 45;
    }
    plan.arena_bytes[1] += Bytes{1} << 45;
    return plan;
  }

  Workload workload_;
  memory::Machine machine_;
  profile::Profile profile_;
  BudgetedRequest asked_;
  std::vector<plan::Plan> plans_;
  std::vector<planners::StepObservation> seen_;
  // Of each step of run().
  std::vector<float> losses_;
  std::vector<std::string> variants_;
  std::vector<program::StepTimes> traces_;
  std::vector<std::vector<plan::Migration>> running_;
};

TEST_P(PlanTrialsTest, SameBitsWhateverIsTried) {
  auto session = start_session();
  const std::vector<std::size_t> tried{0, 1, 0, 2};
  ScriptedSearch::Script script{.best = 1};
  for (const std::size_t plan : tried) script.plans.push_back(plans_[plan]);
  const auto trials = trials_of(*session, script);
  const std::string hash = run(*trials, *session, 0, kSteps);
  EXPECT_THAT(variants_,
              ElementsAre("warm-up", "trial", "warm-up", "trial", "warm-up", "trial", "warm-up", "trial", ""));
  ASSERT_EQ(seen_.size(), tried.size());
  for (std::size_t trial = 0; trial < tried.size(); ++trial) {
    const std::size_t step = 2 * trial + 1;
    EXPECT_EQ(running_[step], plans_[tried[trial]].migrations) << "step " << step;
    EXPECT_EQ(seen_[trial].seconds, traces_[step].step_seconds) << "not its warm-up";
    EXPECT_EQ(seen_[trial].stalls, traces_[step].stalls);
  }
  const PlanRecord& record = trials->record();
  EXPECT_TRUE(record.complete);
  EXPECT_EQ(record.plans.size(), 3U) << "the first plan came twice";
  EXPECT_EQ(record.plans[0].steps.size(), 2U);
  EXPECT_EQ(record.kept, 1U);
  EXPECT_EQ(record.trial_steps, 4);
  EXPECT_EQ(record.warmup_steps, 4);
  EXPECT_EQ(record.search.occasions, 2);
  std::vector<std::int64_t> after;
  for (const PlanChange& change : record.changes) {
    after.push_back(change.step);
    EXPECT_TRUE(change.taken()) << change.failure;
    EXPECT_GT(change.change_seconds, 0);
  }
  EXPECT_THAT(after, ElementsAre(1, 3, 5, 7)) << "three to try, one to keep the second";
  EXPECT_EQ(running_.back(), plans_[1].migrations);
  EXPECT_EQ(policies::plan_of(trials->kept()).migrations, plans_[1].migrations);
  expect_same_without_trials(hash);
}

TEST_P(PlanTrialsTest, TheMostStepsEndThemWithTheBestSoFar) {
  auto session = start_session();
  const auto trials = trials_of(*session, {.plans = plans_, .best = 1}, 3);
  run(*trials, *session, 0, kSteps);
  EXPECT_FALSE(trials->record().complete);
  EXPECT_EQ(trials->record().trial_steps, 3);
  EXPECT_EQ(variants_.back(), "") << "they are over";
  EXPECT_EQ(running_.back(), plans_[1].migrations);
}

TEST_P(PlanTrialsTest, ARunThatEndsInBetweenKnowsTheBestAndItsCheckpointIsGood) {
  const std::filesystem::path checkpoint =
      std::filesystem::path(::testing::TempDir()) / fmt::format("plan_trials.{}.ckpt", ::getpid());
  auto session = start_session();
  const auto trials = trials_of(*session, {.plans = plans_, .best = 1});
  run(*trials, *session, 0, 5);
  EXPECT_EQ(running_.back(), plans_[2].migrations);
  const policies::Run kept = trials->kept();
  EXPECT_EQ(policies::plan_of(kept).migrations, plans_[1].migrations);
  ASSERT_TRUE(trials->save_checkpoint(checkpoint, 5).ok());
  const auto resumed = Session::create(workload_, machine_, kept, {}).value();
  ASSERT_EQ(resumed->load_checkpoint(checkpoint).value(), 5);
  expect_same_without_trials(run(*resumed, *resumed, 5, kSteps));
  std::filesystem::remove(checkpoint);
}

TEST_P(PlanTrialsTest, APlanThatCannotBeStartedEndsThem) {
  machine_.tiers[1].capacity = Bytes{1} << 46;
  asked_.request.budgets[1] = machine_.tiers[1].capacity;
  for (plan::Plan& plan : plans_) plan.budgets = asked_.request.budgets;
  auto session = start_session();
  const auto trials = trials_of(*session, {.plans = {plans_[0], plans_[1], too_large(), plans_[2]}, .best = 0});
  const std::string hash = run(*trials, *session, 0, kSteps);
  const PlanRecord& record = trials->record();
  EXPECT_FALSE(record.complete);
  EXPECT_EQ(record.trial_steps, 2);
  EXPECT_EQ(record.kept, 0U);
  EXPECT_EQ(running_.back(), plans_[0].migrations);
  ASSERT_EQ(record.changes.size(), 3U) << "to the second, to the one too large, back to the first";
  EXPECT_FALSE(record.changes[1].taken());
  EXPECT_NE(record.changes[1].failure, "");
  EXPECT_TRUE(record.changes[2].taken());
  expect_same_without_trials(hash);
}

TEST_P(PlanTrialsTest, ASearchThatIsDoneTriesNothing) {
  auto session = start_session();
  const auto trials = trials_of(*session, {.plans = {plans_[0]}, .best = 0}, 0);
  run(*trials, *session, 0, 2);
  EXPECT_EQ(trials->record().trial_steps + trials->record().warmup_steps, 0);
  EXPECT_TRUE(trials->record().changes.empty());
  EXPECT_THAT(variants_, ElementsAre("", ""));
}

TEST_P(PlanTrialsTest, AProposalThatBreaksARuleIsABug) {
  plan::Plan broken = plans_[1];
  broken.migrations.pop_back();
  auto session = start_session();
  const auto trials = trials_of(*session, {.plans = {plans_[0], broken}, .best = 0});
  EXPECT_THROW(run(*trials, *session, 0, kSteps), std::logic_error);
}

TEST_P(PlanTrialsTest, SettledBeforeTrainingBegins) {
  const auto settle = [&](const std::function<bool()>& stop) {
    return settle_in_training(workload_, start_with({.plans = {plans_[0], plans_[1]}, .best = 1}), {"sentinel"}, {},
                              kRate, stop)
        .value();
  };
  const PlanRecord record = settle([] { return false; });
  EXPECT_TRUE(record.complete);
  EXPECT_EQ(record.trial_steps, 2);
  EXPECT_EQ(record.plans.at(record.kept).plan.migrations, plans_[1].migrations);
  const PlanRecord stopped = settle([steps = 0]() mutable { return ++steps > 2; });
  EXPECT_FALSE(stopped.complete);
  EXPECT_EQ(stopped.trial_steps, 1);
}

INSTANTIATE_TEST_SUITE_P(Tiers, PlanTrialsTest, ::testing::Values("optane", "file", "pcie3"),
                         [](const auto& instance) { return instance.param; });

class PlanTrialsOnTextTest : public PlanTrialsTest {
 protected:
  PlanTrialsOnTextTest()
      : PlanTrialsTest(workload_of("gpt2_small", {.batch = 2, .classes = 256, .sequence = 16, .width = 64, .depth = 2}),
                       "optane"),
        text_(std::filesystem::path(::testing::TempDir()) / fmt::format("plan_trials_text.{}", ::getpid())) {
    std::ofstream(text_) << std::string(3000, 'a') << std::string(3000, 'b');
  }
  ~PlanTrialsOnTextTest() override { std::filesystem::remove(text_); }
  std::filesystem::path text_;
};

// Dropout draws by step, and validation takes the executor away: neither changes a bit, and the step after it is cold.
TEST_F(PlanTrialsOnTextTest, ValidationInBetween) {
  const SessionOptions options{.data = "tokens:" + text_.string(), .validate = true};
  auto session = start_session(options);
  const std::string expected = run(*session, *session, 0, 6);
  const std::vector<float> losses = std::exchange(losses_, {});
  variants_.clear();
  session.reset();
  session = start_session(options);
  const auto trials = trials_of(*session, {.plans = {plans_[0], plans_[1]}, .best = 1, .steps_each = 2});
  run(*trials, *session, 0, 2);
  ASSERT_TRUE(trials->validate(1).ok());
  EXPECT_EQ(run(*trials, *session, 2, 6), expected);
  EXPECT_EQ(testing::bits_of(losses_), testing::bits_of(losses));
  EXPECT_THAT(variants_, ElementsAre("warm-up", "trial", "warm-up", "trial", "warm-up", "trial"));
}

}  // namespace
}  // namespace sluice::train
