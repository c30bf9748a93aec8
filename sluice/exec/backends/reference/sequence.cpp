// Embeddings and the LSTM cell.
#include <algorithm>
#include <cmath>

#include "sluice/exec/backends/reference/reference_kernels.hpp"

namespace sluice {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Calls visit(position, row of w) for every id within the op's part of the vocabulary; w has the rows of that part.
template <typename Visit>
void for_each_id(const ReferenceCall& call, const Shape& w, Visit visit) {
  const auto ids = call.input<std::int32_t>(0);
  const std::int64_t begin = call.attributes().out_begin;
  const bool whole = call.attributes().out_end == 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t row = ids[i] - begin;
    const bool inside = row >= 0 && row < w[0];
    SLUICE_CHECK(inside || (!whole && ids[i] >= 0), "token " + std::to_string(ids[i]) + " is outside the vocabulary");
    if (inside) visit(i, static_cast<std::size_t>(row));
  }
}

// Sizes and the places of one hidden feature's four gates.
struct CellSpace {
  std::size_t batch, hidden;

  explicit CellSpace(const Shape& gates)
      : batch(static_cast<std::size_t>(gates[0])), hidden(static_cast<std::size_t>(gates[1] / 4)) {}

  std::size_t gate(std::size_t n, std::size_t which, std::size_t k) const { return (n * 4 + which) * hidden + k; }
};

enum Gate : std::size_t { kIn, kForget, kCell, kOut };

}  // namespace

void reference_embedding(const ReferenceCall& call) {
  const auto w = call.input<float>(1);
  const auto y = call.output<float>(0);
  const auto features = static_cast<std::size_t>(call.input_shape(1)[1]);
  for_each_id(call, call.input_shape(1), [&](std::size_t i, std::size_t row) {
    for (std::size_t k = 0; k < features; ++k) y[i * features + k] = w[row * features + k];
  });
}

void reference_embedding_backward(const ReferenceCall& call) {
  const auto dy = call.input<float>(1);
  const auto dw = call.output<float>(0);
  const auto features = static_cast<std::size_t>(call.output_shape(0)[1]);
  std::vector<double> sums(dw.size(), 0.0);
  if (call.attributes().accumulate) {
    const auto before = call.input<float>(2);
    std::copy(before.begin(), before.end(), sums.begin());
  }
  for_each_id(call, call.output_shape(0), [&](std::size_t i, std::size_t row) {
    for (std::size_t k = 0; k < features; ++k) sums[row * features + k] += dy[i * features + k];
  });
  for (std::size_t i = 0; i < dw.size(); ++i) dw[i] = static_cast<float>(sums[i]);
}

void reference_lstm_cell(const ReferenceCall& call) {
  const auto gates_x = call.input<float>(0);
  const auto h = call.output<float>(0);
  const auto c = call.output<float>(1);
  const auto gates = call.output<float>(2);
  const CellSpace space(call.input_shape(0));
  const bool state = call.attributes().state;
  const auto before = [&](std::size_t n, std::size_t which, std::size_t k) {
    double sum = gates_x[space.gate(n, which, k)];
    for (std::size_t j = 0; state && j < space.hidden; ++j)
      sum += double{call.input<float>(1)[n * space.hidden + j]} *
             call.input<float>(3)[(which * space.hidden + k) * space.hidden + j];
    return sum;
  };
  std::vector<double> new_h(h.size());
  for (std::size_t n = 0; n < space.batch; ++n)
    for (std::size_t k = 0; k < space.hidden; ++k) {
      const std::size_t i = n * space.hidden + k;
      const double in = sigmoid(before(n, kIn, k));
      const double forget = sigmoid(before(n, kForget, k));
      const double cell = std::tanh(before(n, kCell, k));
      const double out = sigmoid(before(n, kOut, k));
      const double new_c = (state ? forget * call.input<float>(2)[i] : 0.0) + in * cell;
      c[i] = static_cast<float>(new_c);
      new_h[i] = out * std::tanh(new_c);
      gates[space.gate(n, kIn, k)] = static_cast<float>(in);
      gates[space.gate(n, kForget, k)] = static_cast<float>(forget);
      gates[space.gate(n, kCell, k)] = static_cast<float>(cell);
      gates[space.gate(n, kOut, k)] = static_cast<float>(out);
    }
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = static_cast<float>(new_h[i]);
}

void reference_lstm_cell_backward(const ReferenceCall& call) {
  const auto dh = call.input<float>(0);
  const auto gates = call.input<float>(1);
  const auto c = call.input<float>(2);
  const auto dgates = call.output<float>(0);
  const CellSpace space(call.input_shape(1));
  const bool state = call.attributes().state;
  const std::size_t carry = state ? 5 : 3;  // where dc is, if there is one
  for (std::size_t n = 0; n < space.batch; ++n)
    for (std::size_t k = 0; k < space.hidden; ++k) {
      const std::size_t i = n * space.hidden + k;
      const double in = gates[space.gate(n, kIn, k)];
      const double forget = gates[space.gate(n, kForget, k)];
      const double cell = gates[space.gate(n, kCell, k)];
      const double out = gates[space.gate(n, kOut, k)];
      const double tanh_c = std::tanh(double{c[i]});
      const double dc =
          dh[i] * out * (1 - tanh_c * tanh_c) + (call.attributes().carry ? call.input<float>(carry)[i] : 0.0F);
      const double old_c = state ? call.input<float>(3)[i] : 0.0F;
      dgates[space.gate(n, kIn, k)] = static_cast<float>(dc * cell * in * (1 - in));
      dgates[space.gate(n, kForget, k)] = static_cast<float>(dc * old_c * forget * (1 - forget));
      dgates[space.gate(n, kCell, k)] = static_cast<float>(dc * in * (1 - cell * cell));
      dgates[space.gate(n, kOut, k)] = static_cast<float>(dh[i] * tanh_c * out * (1 - out));
      if (state) call.output<float>(2)[i] = static_cast<float>(dc * forget);
    }
  if (!state) return;
  const auto w = call.input<float>(4);
  for (std::size_t n = 0; n < space.batch; ++n)
    for (std::size_t j = 0; j < space.hidden; ++j) {
      double sum = 0;
      for (std::size_t row = 0; row < 4 * space.hidden; ++row)
        sum += double{dgates[n * 4 * space.hidden + row]} * w[row * space.hidden + j];
      call.output<float>(1)[n * space.hidden + j] = static_cast<float>(sum);
    }
}

}  // namespace sluice
