// Good prices for the certificate of any order of a step (plan/verify/any_order_certificate.hpp): the duals of a linear
// program over its epochs.
//
// It is that of step_prices.hpp with epochs in place of ops, and more to choose from: bytes may be lost in a gap and
// made again at its end, which takes compute time there; ops that float take their time in any epoch between their
// first and their last; what only such an op uses comes and goes in any epoch from its first on.
#pragma once

#include "sluice/plan/verify/any_order.hpp"
#include "sluice/plan/verify/certificate.hpp"

namespace sluice::planners {

// `order`: of the step. Prices of zero where the program has no answer in time (wall clock).
plan::StepPrices find_any_order_prices(const plan::BoundedStep& step, const plan::AnyOrder& order, Seconds time_limit);

}  // namespace sluice::planners
