#include "sluice/graph/ops/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice::graph {
namespace {

std::string rows_text(const Interval<std::int64_t>& rows) { return fmt::format("[{}:{}]", rows.begin, rows.end); }

}  // namespace

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

const std::string& whole_name(const Tensor& tensor) {
  return tensor.part.whole.empty() ? tensor.name : tensor.part.whole;
}

const std::string& parameter_name(const Tensor& tensor) {
  return tensor.parameter.empty() ? tensor.name : tensor.parameter;
}

void cut_rows(Tensor& tensor, const Interval<std::int64_t>& rows) {
  if (is_persistent(tensor.role) && tensor.parameter.empty()) tensor.parameter = tensor.name;
  const std::int64_t before = tensor.part.rows.begin;
  tensor.part = {whole_name(tensor), {before + rows.begin, before + rows.end}};
  tensor.name += rows_text(rows);
}

void name_beside(Tensor& tensor, const std::string& whole, const Tensor& source) {
  const bool is_part = !source.part.whole.empty();
  tensor.name = is_part ? whole + rows_text(source.part.rows) : whole;
  tensor.part = is_part ? TensorPart{whole, source.part.rows} : TensorPart{};
}

TensorPart part_beside(const Tensor& source, std::string_view suffix) {
  TensorPart part = source.part;
  if (!part.whole.empty()) part.whole += suffix;
  return part;
}

}  // namespace sluice::graph
