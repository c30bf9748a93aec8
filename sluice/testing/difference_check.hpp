// Checks gradients of a graph on the reference backend against differences of its outputs.
//
// One element of a leaf is moved up and down, and the step is run again each time. Where the two one-sided differences
// disagree, the output has a kink (ReLU, maximum) within the step: then smaller steps are tried. Elements that stay at
// a kink prove nothing and are left out; the check fails if these are most of them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "sluice/testing/op_cases/op_cases.hpp"

namespace sluice::testing {

class DifferenceCheck {
 public:
  DifferenceCheck(const graph::Graph& logical, const kernels::StepContext& context, NamedValues leaves);

  const NamedValues& base() const { return base_; }  // every value of the unmoved step

  // Compares the `elements` largest elements of the claimed gradient with differences over `step`; `tolerance` is
  // relative to the largest.
  void expect_gradient(const GradientClaim& claim, float step, double tolerance, std::size_t elements);

 private:
  std::optional<double> nearest_difference(const GradientClaim& claim, std::size_t element, float step,
                                           double tolerance);
  double output_at(const GradientClaim& claim, std::size_t element, float change);
  double output_of(const GradientClaim& claim, const NamedValues& values) const;

  const graph::Graph& logical_;
  kernels::StepContext context_;
  NamedValues leaves_;
  std::unique_ptr<kernels::CompiledGraph> compiled_;
  GraphRunner runner_;
  NamedValues base_;
};

}  // namespace sluice::testing
