// A sparse matrix that is known when a graph is made, row by row: what a resampling, a padding or a selection along one
// axis does to each line of elements (kSparseProduct, op.hpp).
//
// Ops share one matrix; it is equal to another when its numbers are. Immutable: safe from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::graph {

struct SparseMatrix {
  std::int64_t columns = 0;
  std::vector<std::int64_t> row_starts = {0};  // row i has the terms [row_starts[i], row_starts[i + 1])
  std::vector<std::int64_t> column_of;         // by term
  std::vector<float> values;                   // by term

  std::int64_t rows() const { return std::ssize(row_starts) - 1; }
  std::int64_t terms() const { return std::ssize(values); }
  void add_term(std::int64_t column, float value);  // to the row that is being made
  void end_row() { row_starts.push_back(terms()); }
  // Rows in order, columns and starts within bounds.
  bool is_sound() const;
  bool operator==(const SparseMatrix&) const = default;
};

// A column's terms come in the order of their rows, so that sums over them have one order.
SparseMatrix transposed(const SparseMatrix& matrix);

// A matrix among an op's attributes; none by default.
class SharedMatrix {
 public:
  SharedMatrix() = default;
  SharedMatrix(SparseMatrix matrix) : matrix_(std::make_shared<const SparseMatrix>(std::move(matrix))) {}

  explicit operator bool() const { return matrix_ != nullptr; }
  const SparseMatrix& operator*() const { return *matrix_; }
  const SparseMatrix* operator->() const { return matrix_.get(); }
  bool operator==(const SharedMatrix& other) const;
  std::string digest() const;  // of all numbers; empty without a matrix

 private:
  std::shared_ptr<const SparseMatrix> matrix_;
};

}  // namespace sluice::graph
