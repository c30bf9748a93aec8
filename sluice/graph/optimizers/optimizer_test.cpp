// Every optimizer's row: that it is whole, and that what is made from it says the same.
#include "sluice/graph/optimizers/optimizer.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

TEST(Optimizers, HaveNamesThatAreReadBack) {
  for (const Optimizer each : all_optimizers()) EXPECT_EQ(parse_optimizer(to_string(each)).value(), each);
  EXPECT_EQ(parse_optimizer("lamb").error().message.substr(0, 46), "unknown optimizer 'lamb'; write sgd, adam, ada");
}

TEST(Optimizers, UpdateByOpsThatKeepSomething) {
  for (const Optimizer each : all_optimizers()) {
    const OptimizerRow& row = optimizer_row(each);
    EXPECT_TRUE(is_update(row.kind)) << row.name;
    EXPECT_GE(moments_of(row.kind), 1U) << row.name;
    EXPECT_GT(row.rate, 0) << row.name;
  }
}

// Of every hyperparameter: the usual value is allowed, numbers beside its range are not, and an update shows it.
TEST(Optimizers, CheckAndUseTheirHyperparameters) {
  for (const Optimizer optimizer : all_optimizers()) {
    const OptimizerRow& row = optimizer_row(optimizer);
    OptimizerOptions usual{.optimizer = optimizer};
    use_usual_hyperparameters(usual);
    EXPECT_TRUE(check_hyperparameters(usual).ok()) << row.name;
    for (const Hyperparameter& each : row.hyperparameters) {
      SCOPED_TRACE(std::string(row.name) + " " + option_of(each));
      OptimizerOptions wrong = usual;
      wrong.*each.value = each.least - (each.above_least ? 0 : 1);
      ASSERT_FALSE(check_hyperparameters(wrong).ok());
      EXPECT_NE(check_hyperparameters(wrong).error().message.find(option_of(each)), std::string::npos);
      wrong.*each.value = each.below;
      EXPECT_FALSE(check_hyperparameters(wrong).ok());
      if (each.name == "weight decay") continue;  // a parameter may have its own
      OptimizerOptions other = usual;
      other.*each.value = each.usual / 2;
      UpdateAttributes of_usual, of_other;
      row.fill(usual, of_usual);
      row.fill(other, of_other);
      EXPECT_FALSE(of_usual == of_other);
    }
  }
}

TEST(Optimizers, SayWhatTheyAreSetTo) {
  EXPECT_EQ(describe_hyperparameters({}), "momentum 0.9, weight decay 0.0001");
  EXPECT_EQ(describe_hyperparameters({.optimizer = Optimizer::kAdam}),
            "momentum 0.9, beta2 0.999, epsilon 1e-08, weight decay 0.0001");
  EXPECT_EQ(usual_rates().substr(0, 36), "0.02 for sgd, 0.001 for adam and ada");
}

TEST(Optimizers, AreInTheDocumentation) {
  std::ifstream file(SLUICE_SOURCE_FOLDER "/docs/training.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(optimizer_document()), std::string::npos) << "docs/training.md should have this table:\n"
                                                                      << optimizer_document();
}

}  // namespace
}  // namespace sluice::graph
