// Embeddings and the LSTM cell.
#include "sluice/kernels/cuda/divisor.cuh"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/operands.cuh"

namespace sluice::kernels::cuda {
namespace {

constexpr std::int64_t kSearchedAtOnce = 16 * kThreads;  // ids
constexpr std::int64_t kColumnsOfBlock = kThreads;
constexpr std::int32_t kNone = -1;

// The ids of an op, and which of them are in its part of the vocabulary. An id outside the whole vocabulary is passed
// over like one outside the part: a kernel cannot refuse it, so ids are checked where batches are made.
struct Ids {
  const std::int32_t* id;
  std::int64_t count, vocabulary_begin, vocabulary;

  Ids(const CudaCall& call, const graph::Shape& w)
      : id(integers(call.input(0))),
        count(call.input(0).elements()),
        vocabulary_begin(call.slice().begin),
        vocabulary(w[0]) {}

  // The row of w for position i.
  __device__ std::int64_t row(std::int64_t i) const { return id[i] - vocabulary_begin; }
  __device__ bool inside(std::int64_t i) const { return row(i) >= 0 && row(i) < vocabulary; }
};

void embedding(const CudaCall& call) {
  const Ids ids(call, *call.input(1).shape);
  const Cells w = cells(call.input(1));
  const Cells y = cells(call.output(0));
  const std::int64_t features = call.input(1).shape->back();
  const Divisor by_features(std::max<std::int64_t>(features, 1));
  for_each_element(call.stream, ids.count * features, [=] __device__(std::int64_t i) {
    const std::int64_t position = by_features.quotient(i);
    if (ids.inside(position)) y.set(i, w[ids.row(position) * features + i - position * features]);
  });
}

// The positions of the same id as a list, in ascending order. It makes a position's sum the work of one block.
struct Repeats {
  std::int32_t* next;         // of each position; kNone: it is the last
  std::int32_t* is_repeated;  // not 0: an earlier position has the same id

  Repeats(void* workspace, std::int64_t count)
      : next(static_cast<std::int32_t*>(workspace)), is_repeated(next + count) {}
};

// Every position looks for the next one of its id; only one finds a given position, so only one marks it.
void find_repeats(const CudaCall& call, const Ids& ids, const Repeats& repeats) {
  for_each_element(call.stream, ids.count, [=] __device__(std::int64_t i) { repeats.is_repeated[i] = 0; });
  for_each_row(call.stream, ids.count, [=] __device__(std::int64_t i, Block & block) {
    if (!ids.inside(i)) return;
    const std::int32_t id = ids.id[i];
    std::int64_t found = kNone;
    for (std::int64_t begin = i + 1; begin < ids.count && found == kNone; begin += kSearchedAtOnce) {
      const float nearest = -block.largest(min(kSearchedAtOnce, ids.count - begin), [&](std::int64_t k) {
        return ids.id[begin + k] == id ? -static_cast<float>(k) : -INFINITY;
      });
      if (nearest < INFINITY) found = begin + static_cast<std::int64_t>(nearest);
    }
    if (!block.leads()) return;
    repeats.next[i] = static_cast<std::int32_t>(found);
    if (found != kNone) repeats.is_repeated[found] = 1;
  });
}

// What the gradients of w's rows are added to.
void prepare_gradient(const CudaCall& call) {
  const Operand& result = call.output(0);
  const Cells dw = cells(result);
  if (!call.slice().accumulate) {
    for_each_element(call.stream, result.elements(), [=] __device__(std::int64_t i) { dw.set(i, 0); });
    return;
  }
  if (call.input(2).data == result.data) return;
  const Cells before = cells(call.input(2));
  for_each_element(call.stream, result.elements(), [=] __device__(std::int64_t i) { dw.set(i, before[i]); });
}

// The first position of every id adds up the gradients of all positions of that id, in their order. A block does so
// for some of the columns.
void embedding_backward(const CudaCall& call) {
  const Ids ids(call, *call.output(0).shape);
  const Repeats repeats(call.workspace, ids.count);
  const Cells dy = cells(call.input(1));
  const Cells dw = cells(call.output(0));
  const std::int64_t features = call.output(0).shape->back();
  const std::int64_t parts = (features + kColumnsOfBlock - 1) / kColumnsOfBlock;
  find_repeats(call, ids, repeats);
  prepare_gradient(call);
  for_each_row(call.stream, ids.count * parts, [=] __device__(std::int64_t part, Block & block) {
    const std::int64_t first = part / parts;
    if (!ids.inside(first) || repeats.is_repeated[first] != 0) return;
    const std::int64_t begin = part % parts * kColumnsOfBlock;
    block.for_each(min(kColumnsOfBlock, features - begin), [&](std::int64_t k) {
      const std::int64_t target = ids.row(first) * features + begin + k;
      float sum = dw[target];
      for (std::int64_t i = first; i != kNone; i = repeats.next[i]) sum += dy[i * features + begin + k];
      dw.set(target, sum);
    });
  });
}

Bytes repeats_workspace(const graph::Op&, const std::vector<graph::Shape>& inputs, const std::vector<graph::Shape>&) {
  return 2 * graph::element_count(inputs.at(0)) * static_cast<Bytes>(sizeof(std::int32_t));
}

__device__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// The four gates of one hidden feature of one sample, or their gradients.
struct Gates {
  float in, forget, cell, out;
};

// Where the gates of hidden feature k of sample n lie: [N, 4 (in, forget, cell, out), K].
struct CellSpace {
  std::int64_t batch, hidden;

  explicit CellSpace(const graph::Shape& gates) : batch(gates[0]), hidden(gates[1] / 4) {}

  __device__ std::int64_t gate(std::int64_t n, int which, std::int64_t k) const { return (n * 4 + which) * hidden + k; }
  __device__ Gates read(const Cells& gates, std::int64_t n, std::int64_t k) const {
    return {gates[gate(n, 0, k)], gates[gate(n, 1, k)], gates[gate(n, 2, k)], gates[gate(n, 3, k)]};
  }
  __device__ void write(const Cells& gates, std::int64_t n, std::int64_t k, const Gates& values) const {
    gates.set(gate(n, 0, k), values.in);
    gates.set(gate(n, 1, k), values.forget);
    gates.set(gate(n, 2, k), values.cell);
    gates.set(gate(n, 3, k), values.out);
  }
};

// What a cell has of the step before.
struct State {
  Cells h, c, w;

  // Adds w times h to the gates before their activation.
  __device__ void add_product(const CellSpace& space, std::int64_t n, std::int64_t k, Gates& gates) const {
    const std::int64_t hidden = space.hidden;
    for (std::int64_t j = 0; j < hidden; ++j) {
      const float earlier = h[n * hidden + j];
      gates.in += earlier * w[k * hidden + j];
      gates.forget += earlier * w[(hidden + k) * hidden + j];
      gates.cell += earlier * w[(2 * hidden + k) * hidden + j];
      gates.out += earlier * w[(3 * hidden + k) * hidden + j];
    }
  }
};

// Neighbouring threads take the same feature of neighbouring samples, so that they read the same weights.
void lstm_cell(const CudaCall& call) {
  const CellSpace space(*call.input(0).shape);
  const bool has_state = call.as<graph::RecurrentAttributes>().state;
  const State state = has_state ? State{cells(call.input(1)), cells(call.input(2)), cells(call.input(3))} : State();
  const Cells gates_x = cells(call.input(0));
  const Cells h = cells(call.output(0));
  const Cells c = cells(call.output(1));
  const Cells gates = cells(call.output(2));
  for_each_element(call.stream, space.batch * space.hidden, [=] __device__(std::int64_t i) {
    const std::int64_t k = i / space.batch;
    const std::int64_t n = i % space.batch;
    const std::int64_t place = n * space.hidden + k;
    Gates gate = space.read(gates_x, n, k);
    if (has_state) state.add_product(space, n, k, gate);
    gate = {sigmoid(gate.in), sigmoid(gate.forget), tanhf(gate.cell), sigmoid(gate.out)};
    const float kept = has_state ? gate.forget * state.c[place] : 0.0F;
    const float new_c = kept + gate.in * gate.cell;
    c.set(place, new_c);
    h.set(place, gate.out * tanhf(new_c));
    space.write(gates, n, k, gate);
  });
}

// The gradient of the earlier h, from dgates as stored; neighbouring threads read neighbouring weights.
void lstm_state_gradient(const CudaCall& call, const CellSpace& space) {
  const Cells w = cells(call.input(4));
  const Cells dgates = cells(call.output(0));
  const Cells dh = cells(call.output(1));
  for_each_element(call.stream, space.batch * space.hidden, [=] __device__(std::int64_t i) {
    const std::int64_t n = i / space.hidden;
    const std::int64_t j = i % space.hidden;
    float sum = 0;
    for (std::int64_t row = 0; row < 4 * space.hidden; ++row)
      sum += dgates[n * 4 * space.hidden + row] * w[row * space.hidden + j];
    dh.set(i, sum);
  });
}

void lstm_cell_backward(const CudaCall& call) {
  const CellSpace space(*call.input(1).shape);
  const bool has_state = call.as<graph::RecurrentAttributes>().state;
  const bool carries = call.as<graph::RecurrentAttributes>().carry;
  const Cells dh = cells(call.input(0));
  const Cells gates = cells(call.input(1));
  const Cells c = cells(call.input(2));
  const Cells old_c = has_state ? cells(call.input(3)) : Cells();
  const Cells later_dc = carries ? cells(call.input(has_state ? 5 : 3)) : Cells();
  const Cells dgates = cells(call.output(0));
  const Cells earlier_dc = has_state ? cells(call.output(2)) : Cells();
  for_each_element(call.stream, space.batch * space.hidden, [=] __device__(std::int64_t i) {
    const std::int64_t n = i / space.hidden;
    const std::int64_t k = i % space.hidden;
    const Gates gate = space.read(gates, n, k);
    const float tanh_c = tanhf(c[i]);
    const float dc = dh[i] * gate.out * (1 - tanh_c * tanh_c) + (carries ? later_dc[i] : 0.0F);
    const float forgotten = has_state ? old_c[i] : 0.0F;
    space.write(dgates, n, k,
                {dc * gate.cell * gate.in * (1 - gate.in), dc * forgotten * gate.forget * (1 - gate.forget),
                 dc * gate.in * (1 - gate.cell * gate.cell), dh[i] * tanh_c * gate.out * (1 - gate.out)});
    if (has_state) earlier_dc.set(i, dc * gate.forget);
  });
  if (has_state) lstm_state_gradient(call, space);
}

}  // namespace

KernelEntries sequence_kernels() {
  return {
      {graph::OpKind::kEmbedding, embedding},
      {graph::OpKind::kEmbeddingBackward, embedding_backward, repeats_workspace},
      {graph::OpKind::kLstmCell, lstm_cell},
      {graph::OpKind::kLstmCellBackward, lstm_cell_backward},
  };
}

}  // namespace sluice::kernels::cuda
