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

constexpr std::int64_t kKeptSteps = 4;
constexpr double kRounding = 5e-4;  // of a loss: rounding of fp32, four steps on
constexpr float kSmallRate = 1e-4F;

const std::map<std::string, std::vector<float>>& kept_losses() {
  static const std::map<std::string, std::vector<float>> kLosses{
      // clang-format off
      {"resnet20", {2.89820957F, 2.85468721F, 2.36441565F, 2.58712506F}},
      {"plain20", {2.27794051F, 2.30790806F, 2.16612387F, 2.26454306F}},
      {"inception_v3", {2.68349552F, 2.85704327F, 2.32021809F, 2.27352238F}},
      {"densenet121", {3.15212703F, 3.71962237F, 2.17420936F, 2.69626379F}},
      {"mobilenet_v2", {2.35766435F, 2.61416054F, 3.36079907F, 1.62537861F}},
      {"squeezenet1_1", {2.29555583F, 2.30336213F, 2.30997324F, 2.30647063F}},
      {"googlenet", {10.5280590F, 7.10533762F, 1.54457176F, 5.48621845F}},
      {"dcgan", {2.25629354F, 2.04167652F, 2.18281889F, 2.04993629F}},
      {"lstm", {5.29783154F, 5.29860783F, 5.29792166F, 5.29632187F}},
      {"bert_base", {5.31278563F, 5.40047646F, 5.22529030F, 5.33490896F}},
      {"resnet20_accumulated", {3.20312548F, 3.06345463F, 4.78576183F, 4.51486063F}},
      {"gpt2_small", {5.28170776F, 5.29830313F, 5.27003002F, 5.29184484F}},
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
  return plan.ok() ? train(workload, machine, *plan, kKeptSteps, kSmallRate).losses : std::vector<float>();
}

// Of two images, batch norms of deep layers have two values, and rounding decides which way a step goes.
std::size_t compared_steps(const Family& family) {
  const bool two_images = family.options.shape.image_size > 0 && family.options.shape.batch < 4;
  return two_images ? 1 : kKeptSteps;
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
    for (std::size_t step = 0; step < compared_steps(family); ++step) {
      EXPECT_NEAR(losses[step], kept->second[step], kRounding * std::abs(kept->second[step])) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace sluice::tests
