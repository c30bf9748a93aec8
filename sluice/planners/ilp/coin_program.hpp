// Programs as COIN-OR's solvers take them. The one header with theirs; only this folder's sources include it.
#pragma once

#include <coin/ClpEventHandler.hpp>
#include <coin/OsiClpSolverInterface.hpp>
#include <functional>

#include "sluice/planners/ilp/integer_program.hpp"

namespace sluice::planners {

void load(const IntegerProgram& program, OsiClpSolverInterface& solver);

// Asks at every iteration of Clp whether to end. (Programs of many thousands of rows take seconds.)
class StoppingHandler final : public ClpEventHandler {
 public:
  explicit StoppingHandler(std::function<bool()> stop) : stop_(std::move(stop)) {}

  int event(Event /*which*/) override {
    constexpr int kGoOn = -1, kEnd = 0;
    return stop_ && stop_() ? kEnd : kGoOn;
  }
  ClpEventHandler* clone() const override { return new StoppingHandler(*this); }

 private:
  std::function<bool()> stop_;
};

// The relaxation, with presolve and by the primal method: a fourth of the time that the dual one takes for programs of
// flows.
void solve_flows(OsiClpSolverInterface& solver);

}  // namespace sluice::planners
