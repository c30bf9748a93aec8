// Checkmate's integer program (Jain et al. 2020, section 4): which nodes run again in which stage, so that the step takes
// the least time and no node finds too little memory.
//
//   minimise   sum over t, i of C_i R[t,i]                                                                   (1a)
//   such that  R[t,i] <= R[t,j] + S[t,j]          for what node i reads of node j                            (1b)
//              S[t,i] <= R[t-1,i] + S[t-1,i]                                                                 (1c)
//              R[t,t] = 1, R[t,i] = 0 for i > t, S[t,i] = 0 for i >= t                               (8a) to (8c)
//              U[t,k] <= capacity,  U[t,0] = always + sum of M_i S[t,i]                                  (1d), (2)
//              U[t,k+1] = U[t,k] - freed[t,k] + M_{k+1} R[t,k+1]                                              (3)
//              FREE[t,i,k] = R[t,k] (1 - S[t+1,i]) product over readers j > k of (1 - R[t,j])                 (5)
//
// The paper makes (5) linear by counting what stands in the way: one row with a large factor. Here each factor of the
// product has a row, FREE <= factor, which is tighter and needs no lower bound on FREE, nor integers: to free less than
// one could only costs memory. Values instead of nodes have S and FREE, and while a node runs it may take more than what
// it makes. Of (8), more is fixed: what runs once, and what cannot run again or is of no use by a stage
// (find_last_runs()). S[t,i] + R[t,i] <= 1: what is made again in a stage need not have been there when it began, as
// nobody before it reads it.
//
// Columns are about n^2/2 each of R, S and U and a FREE for each reader of a value in each stage. Bytes are in parts of
// the capacity, times in thousandths of the step.
#pragma once

#include "sluice/planners/checkmate/remat_problem.hpp"
#include "sluice/planners/ilp/integer_program.hpp"

namespace sluice::planners {

class RematProgram {
 public:
  // `problem` must outlive this object.
  explicit RematProgram(const RematProblem& problem);

  const IntegerProgram& ilp() const { return ilp_; }
  double seconds_per_unit() const { return seconds_per_unit_; }

  // Values of all columns for runs that fit.
  std::vector<double> values_of(const RematRuns& runs) const;
  RematRuns runs_of(const std::vector<double>& values) const;
  // What a relaxed answer keeps: S at least `threshold`.
  RematKept kept_of(const std::vector<double>& values, double threshold) const;

 private:
  // A column, or one of two constants.
  static constexpr int kOne = -1, kZero = -2;
  struct FreeColumn {
    int column = 0, stage = 0, value = 0, node = 0;
  };
  void add_runs();
  void add_kept();
  void add_kept_rows();
  void add_operand_rows();
  void add_memory(int stage);
  int add_free(int stage, int value, int node);
  // A column of U, which is the one before and what the row, not yet tied to them, adds up.
  int add_used(Row row, int before);
  static void add_bytes(Row& row, int column, double bytes);
  bool always_kept(int stage, int value) const;
  // sum of coefficient x (column or constant) <= upper
  void add_row(std::vector<Term> terms, double upper);
  double size(Bytes bytes) const { return static_cast<double>(bytes) / bytes_per_unit_; }
  // R of the node that makes the value, where that run makes it.
  int made(int stage, int value) const;
  bool reads(int stage, int node, int value) const { return problem_.values[value].node != node || stage > node; }

  const RematProblem& problem_;
  IntegerProgram ilp_;
  double bytes_per_unit_ = 1, seconds_per_unit_ = 1;
  IdVector<int, IdVector<int, int>> run_, kept_;  // by stage, by node or value
  std::vector<FreeColumn> free_;
  std::vector<int> used_;               // columns of U, in order
  std::vector<std::size_t> used_rows_;  // by used_: the row that says what it is
};

}  // namespace sluice::planners
