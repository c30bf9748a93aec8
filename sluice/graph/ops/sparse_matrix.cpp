#include "sluice/graph/ops/sparse_matrix.hpp"

#include <algorithm>
#include <bit>

#include "sluice/base/as_index.hpp"
#include "sluice/base/hash.hpp"

namespace sluice::graph {

void SparseMatrix::add_term(std::int64_t column, float value) {
  column_of.push_back(column);
  values.push_back(value);
}

bool SparseMatrix::is_sound() const {
  const auto in_range = [&](std::int64_t column) { return column >= 0 && column < columns; };
  return !row_starts.empty() && row_starts.front() == 0 && row_starts.back() == terms() &&
         column_of.size() == values.size() && std::is_sorted(row_starts.begin(), row_starts.end()) &&
         std::all_of(column_of.begin(), column_of.end(), in_range);
}

SparseMatrix transposed(const SparseMatrix& matrix) {
  SparseMatrix result;
  result.columns = matrix.rows();
  result.row_starts.assign(as_index(matrix.columns) + 1, 0);
  for (const std::int64_t column : matrix.column_of) ++result.row_starts[as_index(column) + 1];
  for (std::size_t i = 1; i < result.row_starts.size(); ++i) result.row_starts[i] += result.row_starts[i - 1];
  result.column_of.resize(matrix.column_of.size());
  result.values.resize(matrix.values.size());
  std::vector<std::int64_t> next(result.row_starts.begin(), result.row_starts.end() - 1);
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (std::int64_t term = matrix.row_starts[as_index(row)]; term < matrix.row_starts[as_index(row) + 1]; ++term) {
      const auto place = as_index(next[as_index(matrix.column_of[as_index(term)])]++);
      result.column_of[place] = row;
      result.values[place] = matrix.values[as_index(term)];
    }
  }
  return result;
}

bool SharedMatrix::operator==(const SharedMatrix& other) const {
  if (matrix_ == other.matrix_) return true;
  return matrix_ != nullptr && other.matrix_ != nullptr && *matrix_ == *other.matrix_;
}

std::string SharedMatrix::digest() const {
  if (matrix_ == nullptr) return {};
  Hasher hasher;
  hasher.add(matrix_->columns);
  for (const std::int64_t start : matrix_->row_starts) hasher.add(start);
  for (const std::int64_t column : matrix_->column_of) hasher.add(column);
  for (const float value : matrix_->values) hasher.add(std::int64_t{std::bit_cast<std::int32_t>(value)});
  return hasher.hex();
}

}  // namespace sluice::graph
