// Runs that fit, found without branching.
//
// Two-phase rounding (section 5): of the relaxation's S what is at least a threshold is kept, and then the fewest runs
// are made that this needs. The paper takes one threshold, 0.5; here many are tried, on what the runs really need. Then,
// which is ours, runs of the cheapest are left out again, the longest first, as long as the rest fits: what they made
// stays since it was made before.
//
// Where there is no relaxation to round, the same starts from everything run again in every stage.
//
// Cost: a run_peak() for each threshold and each run that is tried to leave out: a tenth of a second for 80 nodes.
#pragma once

#include <optional>

#include "sluice/planners/checkmate/remat_program.hpp"

namespace sluice::planners {

bool fits(const RematProblem& problem, const RematRuns& runs);

// Leaves out runs of those that fit.
RematRuns without_needless_runs(const RematProblem& problem, RematRuns runs);

// The cheapest of the roundings that fit into `problem`; the program may be of less capacity. Nothing where none does.
std::optional<RematRuns> round_kept(const RematProblem& problem, const RematProgram& program,
                                    const std::vector<double>& relaxed);

// Nothing where even all that can run again, in every stage, does not fit.
std::optional<RematRuns> runs_by_leaving_out(const RematProblem& problem);

}  // namespace sluice::planners
