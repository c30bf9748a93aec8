#include "sluice/testing/difference_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sluice/kernels/backends/backends.hpp"

namespace sluice::testing {
namespace {

// The `count` elements of largest magnitude: where a difference of fp32 outputs has the most digits.
std::vector<std::size_t> largest_elements(const std::vector<float>& values, std::size_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace

DifferenceCheck::DifferenceCheck(const graph::Graph& logical, const kernels::StepContext& context, NamedValues leaves)
    : logical_(logical),
      context_(context),
      leaves_(std::move(leaves)),
      compiled_(kernels::make_reference_backend()->compile(logical, 1).value()),
      runner_(*compiled_),
      base_(run_case(logical_, runner_, leaves_, context_)) {}

void DifferenceCheck::expect_gradient(const GradientClaim& claim, float step, double tolerance, std::size_t elements) {
  SCOPED_TRACE(claim.input_gradient);
  const std::vector<float>& gradient = base_.at(claim.input_gradient);
  const std::vector<std::size_t> largest = largest_elements(gradient, elements);
  const double scale = std::abs(gradient[largest.at(0)]);
  ASSERT_GT(scale, 0) << "a gradient of zeros proves nothing";
  std::size_t kinks = 0;
  for (const std::size_t i : largest) {
    const std::optional<double> difference = nearest_difference(claim, i, step, tolerance * scale);
    if (!difference) {
      ++kinks;
      continue;
    }
    EXPECT_NEAR(gradient[i], *difference, tolerance * scale) << "element " << i;
  }
  EXPECT_LE(2 * kinks, largest.size()) << "most elements are at kinks or wrong";
}

// Of smaller and smaller steps, the first whose difference confirms the gradient, else the last that was smooth.
std::optional<double> DifferenceCheck::nearest_difference(const GradientClaim& claim, std::size_t element, float step,
                                                          double tolerance) {
  const double base = output_of(claim, base_);
  const double gradient = base_.at(claim.input_gradient)[element];
  std::optional<double> smooth;
  for (const float shrink : {1.0F, 0.25F, 0.0625F}) {
    const double size = double{step} * shrink;
    const double above = (output_at(claim, element, step * shrink) - base) / size;
    const double below = (base - output_at(claim, element, -step * shrink)) / size;
    if (std::abs(above - below) > tolerance) continue;
    smooth = (above + below) / 2;
    if (std::abs(*smooth - gradient) <= tolerance) break;
  }
  return smooth;
}

double DifferenceCheck::output_at(const GradientClaim& claim, std::size_t element, float change) {
  NamedValues moved = leaves_;
  moved.at(claim.input)[element] += change;
  return output_of(claim, run_case(logical_, runner_, moved, context_));
}

// sum(output * weights), in double; no weights stand for ones.
double DifferenceCheck::output_of(const GradientClaim& claim, const NamedValues& values) const {
  const std::vector<float>& output = values.at(claim.output);
  double sum = 0;
  for (std::size_t i = 0; i < output.size(); ++i)
    sum += double{output[i]} * (claim.output_gradient.empty() ? 1.0 : leaves_.at(claim.output_gradient)[i]);
  return sum;
}

}  // namespace sluice::testing
