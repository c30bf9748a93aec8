// Embeddings and the LSTM cell.
#include <algorithm>
#include <cmath>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Calls visit(position, row of w) for every id within the op's part of the vocabulary; w has the rows of that part.
template <typename Visit>
void for_each_id(const ReferenceCall& call, const graph::Shape& w, Visit visit) {
  std::vector<std::int64_t> ids;
  if (call.input_is_integer(0)) {
    for (const std::int32_t id : call.input<std::int32_t>(0)) ids.push_back(id);
  } else {
    for (const float id : call.input<float>(0)) ids.push_back(static_cast<std::int64_t>(id));
  }
  const std::int64_t begin = call.slice().begin;
  const bool whole = call.slice().end == 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t row = ids[i] - begin;
    const bool inside = row >= 0 && row < w[0];
    SLUICE_CHECK(inside || (!whole && ids[i] >= 0), "token " + std::to_string(ids[i]) + " is outside the vocabulary");
    if (inside) visit(i, as_index(row));
  }
}

// The four gates of one hidden feature of one sample, or their gradients.
struct Gates {
  double in, forget, cell, out;
};

// Where the gates of hidden feature k of sample n lie: [N, 4 (in, forget, cell, out), K].
struct ReferenceCellSpace {
  std::size_t batch, hidden;

  explicit ReferenceCellSpace(const graph::Shape& gates) : batch(as_index(gates[0])), hidden(as_index(gates[1] / 4)) {}

  std::size_t gate(std::size_t n, std::size_t which, std::size_t k) const { return (n * 4 + which) * hidden + k; }

  Gates read(std::span<const float> gates, std::size_t n, std::size_t k) const {
    return {gates[gate(n, 0, k)], gates[gate(n, 1, k)], gates[gate(n, 2, k)], gates[gate(n, 3, k)]};
  }
  void write(std::span<float> gates, std::size_t n, std::size_t k, const Gates& values) const {
    gates[gate(n, 0, k)] = static_cast<float>(values.in);
    gates[gate(n, 1, k)] = static_cast<float>(values.forget);
    gates[gate(n, 2, k)] = static_cast<float>(values.cell);
    gates[gate(n, 3, k)] = static_cast<float>(values.out);
  }
};

void embedding(const ReferenceCall& call) {
  const auto w = call.input<float>(1);
  const auto y = call.output<float>(0);
  const auto features = as_index(call.input_shape(1)[1]);
  for_each_id(call, call.input_shape(1), [&](std::size_t i, std::size_t row) {
    for (std::size_t k = 0; k < features; ++k) y[i * features + k] = w[row * features + k];
  });
}

void embedding_backward(const ReferenceCall& call) {
  const auto dy = call.input<float>(1);
  const auto dw = call.output<float>(0);
  const auto features = as_index(call.output_shape(0)[1]);
  std::vector<double> sums(dw.size(), 0.0);
  if (call.slice().accumulate) {
    const auto before = call.input<float>(2);
    std::copy(before.begin(), before.end(), sums.begin());
  }
  for_each_id(call, call.output_shape(0), [&](std::size_t i, std::size_t row) {
    for (std::size_t k = 0; k < features; ++k) sums[row * features + k] += dy[i * features + k];
  });
  for (std::size_t i = 0; i < dw.size(); ++i) dw[i] = static_cast<float>(sums[i]);
}

void lstm_cell(const ReferenceCall& call) {
  const auto gates_x = call.input<float>(0);
  const auto h = call.output<float>(0);
  const auto c = call.output<float>(1);
  const auto gates = call.output<float>(2);
  const ReferenceCellSpace space(call.input_shape(0));
  const bool state = call.as<graph::RecurrentAttributes>().state;
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
      const Gates gate{sigmoid(before(n, 0, k)), sigmoid(before(n, 1, k)), std::tanh(before(n, 2, k)),
                       sigmoid(before(n, 3, k))};
      const double new_c = (state ? gate.forget * call.input<float>(2)[i] : 0.0) + gate.in * gate.cell;
      c[i] = static_cast<float>(new_c);
      new_h[i] = gate.out * std::tanh(new_c);
      space.write(gates, n, k, gate);
    }
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = static_cast<float>(new_h[i]);
}

void lstm_cell_backward(const ReferenceCall& call) {
  const auto dh = call.input<float>(0);
  const auto gates = call.input<float>(1);
  const auto c = call.input<float>(2);
  const auto dgates = call.output<float>(0);
  const ReferenceCellSpace space(call.input_shape(1));
  const bool state = call.as<graph::RecurrentAttributes>().state;
  const std::size_t carry = state ? 5 : 3;  // where dc is, if there is one
  for (std::size_t n = 0; n < space.batch; ++n)
    for (std::size_t k = 0; k < space.hidden; ++k) {
      const std::size_t i = n * space.hidden + k;
      const Gates gate = space.read(gates, n, k);
      const double tanh_c = std::tanh(double{c[i]});
      const double dc = dh[i] * gate.out * (1 - tanh_c * tanh_c) +
                        (call.as<graph::RecurrentAttributes>().carry ? call.input<float>(carry)[i] : 0.0F);
      const double old_c = state ? call.input<float>(3)[i] : 0.0F;
      space.write(dgates, n, k,
                  {.in = dc * gate.cell * gate.in * (1 - gate.in),
                   .forget = dc * old_c * gate.forget * (1 - gate.forget),
                   .cell = dc * gate.in * (1 - gate.cell * gate.cell),
                   .out = dh[i] * tanh_c * gate.out * (1 - gate.out)});
      if (state) call.output<float>(2)[i] = static_cast<float>(dc * gate.forget);
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

}  // namespace

SLUICE_REFERENCE_KERNEL(kEmbedding, embedding)
SLUICE_REFERENCE_KERNEL(kEmbeddingBackward, embedding_backward)
SLUICE_REFERENCE_KERNEL(kLstmCell, lstm_cell)
SLUICE_REFERENCE_KERNEL(kLstmCellBackward, lstm_cell_backward)

}  // namespace sluice::kernels
