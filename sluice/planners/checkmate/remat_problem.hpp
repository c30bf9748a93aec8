// What Checkmate plans with: nodes that are run in a fixed order, values that they make and read, and one capacity.
//
// A step of n nodes has n stages (section 4.2, "frontier advancing"): stage t runs node t for the first time, and before
// it any of the nodes before t again, in the order of the nodes. So what is run again is a matrix R of stages by nodes,
// below its diagonal, and nothing else has to be decided: a value stays from where it was made to the last node that
// reads it before it is made again.
//
//   node       0 a   1 b   2 c   3 c'     b reads a, c reads b, c' reads a and c
//   stage 0    0
//   stage 1    0 1                        a is made in stage 0 and read in stage 1; then it is forgotten
//   stage 2      . 2
//   stage 3    0     3                    a again, for c'
//
// The paper's nodes make one value each; here a node may make several, because executable ops do, and some of them only
// when it runs first (the statistics of a batch norm, which repeats as its apply part).
//
// Cost: run_peak() and least_runs() are linear in the runs and what they read.
#pragma once

#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/id_vector.hpp"
#include "sluice/base/units.hpp"

namespace sluice::planners {

// The values of one node that the same nodes read.
struct RematValue {
  Bytes bytes = 0;
  int node = 0;                   // makes it
  std::vector<int> readers = {};  // ascending; with `node` itself where that reads it when it runs again
  bool made_once = false;         // not by a run after the first
  int last_need = 0;              // the last stage in which a node may read it; find_last_runs()
};

struct RematNode {
  Seconds again = 0;            // what running it again takes
  Bytes beside = 0;             // what it takes beside the values that are there before, at least what it makes
  std::vector<int> reads = {};  // values
  std::vector<int> makes = {};  // values
  int last_run = 0;             // the last stage in which it may run: its own, where it runs once
};

struct RematProblem {
  IdVector<int, RematNode> nodes;
  IdVector<int, RematValue> values;
  Bytes always = 0;    // what is there all the time
  Seconds once = 0;    // of all nodes, each once
  Bytes capacity = 0;  // of all

  int stages() const { return count_of(nodes); }
  bool may_run(int stage, int node) const { return stage >= node && stage <= nodes[node].last_run; }
  bool makes(int stage, int value) const {
    return stage == values[value].node || (!values[value].made_once && may_run(stage, values[value].node));
  }
};

// By stage, by node: R of the paper; the diagonal is true.
using RematRuns = IdVector<int, IdVector<int, bool>>;
// By stage (one more than there are), by value: S of the paper, what is there when the stage begins.
using RematKept = IdVector<int, IdVector<int, bool>>;

// Lowers `last_run` of the nodes to the last stage in which somebody can need what they make, and fills `last_need`.
void find_last_runs(RematProblem& problem);

// Every node once.
RematRuns no_repetitions(const RematProblem& problem);

// What the step takes: equation (1a).
Seconds run_seconds(const RematProblem& problem, const RematRuns& runs);

// What stays between stages for these runs, and no more.
RematKept least_kept(const RematProblem& problem, const RematRuns& runs);

// The most that is there while a node runs: the largest U of equations (2) to (4).
Bytes run_peak(const RematProblem& problem, const RematRuns& runs);

// By how much the runs need more than the capacity, summed over all of them; 0 where they fit.
Bytes bytes_over_capacity(const RematProblem& problem, const RematRuns& runs);

// The fewest runs with which those values can stay (section 5.2, "given S, solve for R"). What is missing and cannot be
// made again by then is kept after all.
RematRuns least_runs(const RematProblem& problem, RematKept kept);

}  // namespace sluice::planners
