// Products with sparse matrices: the bits of a line do not depend on how many others there are.
#include <gtest/gtest.h>

#include <cmath>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/kernels/backend.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int64_t kColumns = 700;

graph::SparseMatrix weighted_runs(std::int64_t rows) {
  graph::SparseMatrix matrix;
  matrix.columns = kColumns;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t term = 0; term < 9; ++term) {
      matrix.add_term((3 * row + 7 * term) % kColumns, 0.1F + 0.37F * static_cast<float>(term));
    }
    matrix.end_row();
  }
  return matrix;
}

std::vector<float> product_of_lines(std::int64_t lines, const std::vector<float>& x) {
  graph::GraphBuilder builder("product");
  builder.begin_layer("product");
  const graph::TensorId given = builder.named_parameter("x", {lines, 1, 1, kColumns}, {}, graph::Role::kParameter);
  const graph::TensorId y = builder.sparse_product(given, 3, weighted_runs(600));
  const std::string name = builder.tensor(y).name;
  const auto graph = builder.finish_without_loss();
  EXPECT_TRUE(graph.ok());
  const auto compiled = make_onednn_backend()->compile(*graph, 2);
  EXPECT_TRUE(compiled.ok());
  testing::GraphRunner runner(**compiled);
  runner.set_plain(runner.find("x"), x);
  runner.run_step({});
  return runner.plain(runner.find(name));
}

TEST(SparseProducts, OfOneLineHaveTheBitsOfThoseOfMany) {
  constexpr std::int64_t kLines = 8;
  std::vector<float> x;
  for (std::int64_t i = 0; i < kLines * kColumns; ++i) x.push_back(std::sin(0.37F * static_cast<float>(i)));
  const std::vector<float> whole = product_of_lines(kLines, x);
  for (std::int64_t line = 0; line < kLines; ++line) {
    const auto begin = x.begin() + line * kColumns;
    const std::vector<float> one = product_of_lines(1, {begin, begin + kColumns});
    EXPECT_TRUE(std::equal(one.begin(), one.end(), whole.begin() + line * 600)) << line;
  }
}

}  // namespace
}  // namespace sluice::kernels
