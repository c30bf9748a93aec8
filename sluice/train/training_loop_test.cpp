#include "sluice/train/training_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <stdexcept>
#include <vector>

namespace sluice::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Error kFull{ErrorCode::kOutOfSpace, "cannot write x.ckpt: No space left on device"};

// Does what it is told to, and notes what it was asked for.
class Told : public Training {
 public:
  Result<StepOutcome> run_step(std::int64_t step, double /*learning_rate*/) override {
    if (step == failing_step) return Error{ErrorCode::kIo, "the disk is gone"};
    if (step == throwing_step) throw std::runtime_error("no memory");
    ++steps;
    return StepOutcome{};
  }
  Result<ValidationResult> validate(std::int64_t /*batches*/) override {
    ++validations;
    if (!failing_validation) return ValidationResult{};
    runs = runs && outlives_validation;
    return Error{ErrorCode::kIo, "the file ended early"};
  }
  Status save_checkpoint(const std::filesystem::path& /*path*/, std::int64_t next_step) override {
    tried.push_back(next_step);
    if (failures > 0) {
      --failures;
      return kFull;
    }
    if (throws_in_checkpoint) throw std::bad_alloc();
    saved.push_back(next_step);
    return {};
  }
  std::optional<std::uintmax_t> checkpoint_bytes() const override { return bytes; }
  bool running() const override { return runs; }

  std::int64_t failing_step = -1, throwing_step = -1;
  bool failing_validation = false, outlives_validation = true, throws_in_checkpoint = false, runs = true;
  int failures = 0;  // of checkpoints, from now on
  std::uintmax_t bytes = 1000;

  int steps = 0, validations = 0;
  std::vector<std::int64_t> tried, saved;
};

class TrainingLoopTest : public ::testing::Test {
 protected:
  TrainingLoopTest() {
    options_.end_step = 20;
    options_.checkpoint = std::filesystem::path(::testing::TempDir()) / ("loop_" + std::to_string(::getpid()));
  }
  Result<TrainingOutcome> run() {
    return run_training(training_, options_,
                        {.problem = [&](const std::string& message) { problems_.push_back(message); }});
  }

  Told training_;
  TrainingOptions options_;
  std::vector<std::string> problems_;
};

TEST_F(TrainingLoopTest, ACheckpointThatCannotBeWrittenIsFoundBeforeTheFirstStep) {
  training_.bytes = std::uintmax_t{1} << 60;
  EXPECT_EQ(run().error().code, ErrorCode::kOutOfSpace);
  options_.checkpoint = "/no/such/folder/x.ckpt";
  EXPECT_EQ(run().error().code, ErrorCode::kIo);
  EXPECT_EQ(training_.steps, 0);
}

TEST_F(TrainingLoopTest, ACheckpointOnTheWayThatFailsIsTriedAgainAndAgainLater) {
  options_.checkpoint_every = 10;
  training_.failures = 3;
  const auto outcome = run();
  ASSERT_TRUE(outcome.ok() && outcome->failure.ok());
  EXPECT_EQ(training_.steps, 20);
  EXPECT_THAT(training_.tried, ElementsAre(10, 11, 13, 17, 20));
  EXPECT_THAT(training_.saved, ElementsAre(17, 20));
  EXPECT_THAT(problems_, ElementsAre(AllOf(HasSubstr("step 10: "), HasSubstr("No space left")), HasSubstr("step 11: "),
                                     HasSubstr("step 13: ")));
}

TEST_F(TrainingLoopTest, TheLastCheckpointIsTriedSeveralTimes) {
  training_.failures = 2;
  const auto outcome = run();
  ASSERT_TRUE(outcome.ok() && outcome->failure.ok());
  EXPECT_EQ(outcome->saved, 20);
}

// What is asked for besides is done all the same, and the error names what there is.
TEST_F(TrainingLoopTest, ALastCheckpointThatFailsIsTheOutcomes) {
  options_.checkpoint_every = 15;
  options_.validate = true;
  class : public Told {
   public:
    Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) override {
      return next_step == 20 ? Status(kFull) : Told::save_checkpoint(path, next_step);
    }
  } full;
  const auto outcome = run_training(full, options_, {});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(full.validations, 1);
  EXPECT_EQ(outcome->failure.error().code, ErrorCode::kOutOfSpace);
  EXPECT_THAT(outcome->failure.error().message,
              AllOf(HasSubstr("No space left"), HasSubstr("the last checkpoint has 15 steps"),
                    HasSubstr("--resume " + options_.checkpoint->string())));
}

TEST_F(TrainingLoopTest, ACheckpointThatGetsNoMemoryIsAnError) {
  training_.throws_in_checkpoint = true;
  const auto outcome = run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(outcome->failure.error().message, HasSubstr("no more memory"));
}

TEST_F(TrainingLoopTest, AValidationThatFailsEndsNothing) {
  options_.validate = true;
  options_.validate_every = 8;
  training_.failing_validation = true;
  const auto outcome = run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(training_.steps, 20);
  EXPECT_EQ(training_.validations, 3);
  EXPECT_THAT(problems_,
              ElementsAre(HasSubstr("step 8: the validation failed: the file ended early"), HasSubstr("step 16: ")));
  EXPECT_FALSE(outcome->failure.ok()) << "the one at the end was asked for, and there is none";
  EXPECT_THAT(training_.saved, ElementsAre(20));
}

TEST_F(TrainingLoopTest, AValidationThatLosesTheSessionEndsTheRun) {
  options_.validate = true;
  options_.validate_every = options_.checkpoint_every = 8;
  training_.failing_validation = true;
  training_.outlives_validation = false;
  EXPECT_THAT(run().error().message,
              AllOf(HasSubstr("the file ended early"), HasSubstr("the last checkpoint has 8 steps")));
}

TEST_F(TrainingLoopTest, ALastValidationThatLosesTheSessionIsAnErrorWithTheCheckpoint) {
  options_.validate = true;
  training_.failing_validation = true;
  training_.outlives_validation = false;
  EXPECT_THAT(run().error().message,
              AllOf(HasSubstr("the file ended early"), HasSubstr("the last checkpoint has 20 steps")));
}

TEST_F(TrainingLoopTest, AStepThatFailsNamesTheLastCheckpoint) {
  options_.checkpoint_every = 5;
  training_.failing_step = 12;
  EXPECT_THAT(run().error().message,
              AllOf(HasSubstr("the disk is gone"), HasSubstr("the last checkpoint has 10 steps")));
  training_.failing_step = 2;
  EXPECT_THAT(run().error().message, HasSubstr("no checkpoint of this run was written"));
}

TEST_F(TrainingLoopTest, AnExceptionLeavesTheNameOfTheLastCheckpoint) {
  options_.checkpoint_every = 5;
  training_.throwing_step = 12;
  EXPECT_THROW((void)run(), std::runtime_error);
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("the last checkpoint has 10 steps")));
}

TEST_F(TrainingLoopTest, InterruptedItSavesOnceAndDoesNotValidate) {
  options_.checkpoint_every = 5;
  options_.validate = true;
  const auto outcome = run_training(training_, options_, {.stop = [&] { return training_.steps == 10; }});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_EQ(outcome->saved, 10);
  EXPECT_THAT(training_.saved, ElementsAre(5, 10));
  EXPECT_EQ(training_.validations, 0);
  EXPECT_THAT(problems_, IsEmpty());
}

}  // namespace
}  // namespace sluice::train
