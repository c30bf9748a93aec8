// Losses of the first steps, kept here from the reference kernels (plain loops): every version of oneDNN has to come to the same
// within rounding. The same bits are promised within one version alone, which same_bits_test.cpp holds to.
//
// With SLUICE_WRITE_LOSSES=1 the test prints the table anew, by the reference kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>

#include "tests/e2e/small_families.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

constexpr std::int64_t kSteps = 4;
constexpr double kTolerance = 2e-4;  // of a loss: rounding of fp32, four steps on

const std::map<std::string, std::vector<float>>& kept_losses() {
  static const std::map<std::string, std::vector<float>> kLosses{
      // clang-format off
      // LOSSES
      // clang-format on
  };
  return kLosses;
}

std::vector<float> losses_of(train::WorkloadOptions options, const std::string& backend) {
  options.backend = backend;
  train::Workload workload = test_workload(options);
  const memory::Machine machine = test_machine(1, {"file"});
  const auto plan = test_plan(workload, machine, "fast-only", "100%");
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return plan.ok() ? train(workload, machine, *plan, kSteps, 0.01F).losses : std::vector<float>();
}

TEST(KeptLosses, AreThoseOfTheReferenceKernelsWhateverTheLibrary) {
  for (const Family& family : small_families()) {
    if (family.options.precision != graph::Precision::kF32) continue;
    SCOPED_TRACE(family.name);
    if (std::getenv("SLUICE_WRITE_LOSSES") != nullptr) {
      std::cout << "      {\"" << family.name << "\", {";
      for (const float loss : losses_of(family.options, "reference"))
        std::cout << std::showpoint << std::setprecision(9) << loss << "F, ";
      std::cout << "}},\n";
      continue;
    }
    const auto kept = kept_losses().find(family.name);
    ASSERT_NE(kept, kept_losses().end());
    const std::vector<float> losses = losses_of(family.options, std::string(kDefaultBackend));
    ASSERT_EQ(losses.size(), kept->second.size());
    for (std::size_t step = 0; step < losses.size(); ++step) {
      EXPECT_NEAR(losses[step], kept->second[step], kTolerance * std::abs(kept->second[step])) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace sluice::tests
