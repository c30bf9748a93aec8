// CumSum along axes of any length: of those that are too long for a matrix, the values that short ones have.
#include <gmock/gmock.h>

#include "tests/onnx/forward_run.hpp"

namespace sluice::tests {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

Values sums_of(std::int64_t extent, bool exclusive, bool reverse) {
  ModelMaker maker;
  maker.input("x", {2, extent});
  maker.integers("axis", {1});
  ::onnx::NodeProto& node = maker.node("CumSum", {"x", "axis"}, {"y"});
  set(node, "exclusive", std::int64_t{exclusive});
  set(node, "reverse", std::int64_t{reverse});
  maker.output("y");
  return output_of(maker, wave({2, extent}));
}

Values expected_sums(std::int64_t extent, bool exclusive, bool reverse) {
  const auto length = static_cast<std::size_t>(extent);
  const std::vector<float> x = wave({2, extent}).floats;
  Values y(x.size());
  for (std::size_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (std::size_t step = 0; step < length; ++step) {
      const std::size_t i = row * length + (reverse ? length - 1 - step : step);
      y[i] = static_cast<float>(exclusive ? sum : sum + x[i]);
      sum += x[i];
    }
  }
  return y;
}

TEST(RunningSums, OfShortAndLongAxes) {
  for (const std::int64_t extent : {1, 7, 2048, 2049, 20'000}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        EXPECT_THAT(sums_of(extent, exclusive, reverse),
                    Pointwise(FloatNear(1e-3F), expected_sums(extent, exclusive, reverse)))
            << extent << (exclusive ? " exclusive" : "") << (reverse ? " reverse" : "");
      }
    }
  }
}

}  // namespace
}  // namespace sluice::tests
