// The LSTM cell. Forward, the recurrent product is oneDNN's, into the workspace; one pass then adds the projected input
// and applies the gates. Backward, one pass makes dgates and dc, and the product with w makes the earlier step's dh.
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/primitive_kernel.hpp"
#include "sluice/kernels/onednn/vectors/vector_math.hpp"

namespace sluice::kernels {
namespace {

// One sample. Rows of gates are `hidden` values each of input, forget, cell and output. `gates` may be `gates_x`, and
// `c` may be `c_old`. Without an earlier step `recurrent` and `c_old` are not read.
template <bool HasState, typename T>
SLUICE_FORCE_INLINE void apply_gates(const T* gates_x, const float* recurrent, const float* c_old, std::int64_t hidden,
                                     T* h, float* c, T* gates) {
  const auto before = [&](std::int64_t i) { return load(gates_x, i) + (HasState ? recurrent[i] : 0.0F); };
#pragma omp simd
  for (std::int64_t k = 0; k < hidden; ++k) {
    const float in = vector_sigmoid(before(k));
    const float forget = vector_sigmoid(before(hidden + k));
    const float cell = vector_tanh(before(2 * hidden + k));
    const float out = vector_sigmoid(before(3 * hidden + k));
    const float new_c = (HasState ? forget * c_old[k] : 0.0F) + in * cell;
    store(gates, k, in);
    store(gates, hidden + k, forget);
    store(gates, 2 * hidden + k, cell);
    store(gates, 3 * hidden + k, out);
    c[k] = new_c;
    store(h, k, out * vector_tanh(new_c));
  }
}

// One sample. Absent operands (c_old, dc_later, dc_old) are null and not touched.
template <bool HasState, bool HasCarry, typename T>
SLUICE_FORCE_INLINE void gate_gradients(const T* dh, const T* gates, const float* c, const float* c_old,
                                        const float* dc_later, std::int64_t hidden, T* dgates, float* dc_old) {
#pragma omp simd
  for (std::int64_t k = 0; k < hidden; ++k) {
    const float in = load(gates, k);
    const float forget = load(gates, hidden + k);
    const float cell = load(gates, 2 * hidden + k);
    const float out = load(gates, 3 * hidden + k);
    const float tanh_c = vector_tanh(c[k]);
    const float slope = load(dh, k);
    const float dc = slope * out * (1 - tanh_c * tanh_c) + (HasCarry ? dc_later[k] : 0.0F);
    const float old = HasState ? c_old[k] : 0.0F;
    if constexpr (HasState) dc_old[k] = dc * forget;
    store(dgates, k, dc * cell * in * (1 - in));
    store(dgates, hidden + k, dc * old * forget * (1 - forget));
    store(dgates, 2 * hidden + k, dc * in * (1 - cell * cell));
    store(dgates, 3 * hidden + k, slope * tanh_c * out * (1 - out));
  }
}

template <typename T>
SLUICE_FORCE_INLINE void any_gates(const T* gates_x, const float* recurrent, const float* c_old, std::int64_t hidden,
                                   T* h, float* c, T* gates) {
  if (recurrent != nullptr) return apply_gates<true>(gates_x, recurrent, c_old, hidden, h, c, gates);
  apply_gates<false>(gates_x, recurrent, c_old, hidden, h, c, gates);
}
SLUICE_VECTOR_CLONES void forward_row(const float* gates_x, const float* recurrent, const float* c_old,
                                      std::int64_t hidden, float* h, float* c, float* gates) {
  any_gates(gates_x, recurrent, c_old, hidden, h, c, gates);
}
SLUICE_VECTOR_CLONES void forward_row(const BFloat16* gates_x, const float* recurrent, const float* c_old,
                                      std::int64_t hidden, BFloat16* h, float* c, BFloat16* gates) {
  any_gates(gates_x, recurrent, c_old, hidden, h, c, gates);
}

template <typename T>
SLUICE_FORCE_INLINE void any_gradients(const T* dh, const T* gates, const float* c, const float* c_old,
                                       const float* dc_later, std::int64_t hidden, T* dgates, float* dc_old) {
  const bool carry = dc_later != nullptr;
  if (c_old != nullptr && carry)
    return gate_gradients<true, true>(dh, gates, c, c_old, dc_later, hidden, dgates, dc_old);
  if (c_old != nullptr) return gate_gradients<true, false>(dh, gates, c, c_old, dc_later, hidden, dgates, dc_old);
  if (carry) return gate_gradients<false, true>(dh, gates, c, c_old, dc_later, hidden, dgates, dc_old);
  gate_gradients<false, false>(dh, gates, c, c_old, dc_later, hidden, dgates, dc_old);
}
SLUICE_VECTOR_CLONES void backward_row(const float* dh, const float* gates, const float* c, const float* c_old,
                                       const float* dc_later, std::int64_t hidden, float* dgates, float* dc_old) {
  any_gradients(dh, gates, c, c_old, dc_later, hidden, dgates, dc_old);
}
SLUICE_VECTOR_CLONES void backward_row(const BFloat16* dh, const BFloat16* gates, const float* c, const float* c_old,
                                       const float* dc_later, std::int64_t hidden, BFloat16* dgates, float* dc_old) {
  any_gradients(dh, gates, c, c_old, dc_later, hidden, dgates, dc_old);
}

struct CellSpace {
  explicit CellSpace(const graph::Shape& gates) : batch(gates[0]), hidden(gates[1] / 4) {}
  std::int64_t batch, hidden;
};

// Row `n` of an operand that may be absent.
template <typename T>
T* row_of(T* values, std::int64_t n, std::int64_t length) {
  return values == nullptr ? nullptr : values + n * length;
}

template <typename T>
void forward(const CellSpace& space, const float* recurrent, Operands operands) {
  const bool state = recurrent != nullptr;
  const std::size_t output = state ? 4 : 1;
  const auto* c_old = state ? operand<const float>(operands, 2) : nullptr;
  for_rows(space.batch, 4 * space.hidden, [&](std::int64_t n) {
    const std::int64_t at = n * space.hidden;
    forward_row(operand<const T>(operands, 0) + 4 * at, row_of(recurrent, n, 4 * space.hidden),
                row_of(c_old, n, space.hidden), space.hidden, operand<T>(operands, output) + at,
                operand<float>(operands, output + 1) + at, operand<T>(operands, output + 2) + 4 * at);
  });
}

template <typename T>
void backward(const CellSpace& space, const graph::RecurrentAttributes& attributes, Operands operands) {
  const std::size_t carry = attributes.state ? 5 : 3;  // where dc is, if there is one
  const std::size_t output = carry + (attributes.carry ? 1 : 0);
  const auto* c_old = attributes.state ? operand<const float>(operands, 3) : nullptr;
  const auto* dc_later = attributes.carry ? operand<const float>(operands, carry) : nullptr;
  auto* dc_old = attributes.state ? operand<float>(operands, output + 2) : nullptr;
  for_rows(space.batch, 4 * space.hidden, [&](std::int64_t n) {
    const std::int64_t at = n * space.hidden;
    backward_row(operand<const T>(operands, 0) + at, operand<const T>(operands, 1) + 4 * at,
                 operand<const float>(operands, 2) + at, row_of(c_old, n, space.hidden),
                 row_of(dc_later, n, space.hidden), space.hidden, operand<T>(operands, output) + 4 * at,
                 row_of(dc_old, n, space.hidden));
  });
}

Layout row_major(std::int64_t rows, std::int64_t columns, graph::DType dtype) {
  return plain_layout({rows, columns}, dtype);
}

Layout transposed_weights(const CellSpace& space, graph::DType dtype) {
  return {{space.hidden, 4 * space.hidden}, onednn_type(dtype), dnnl::memory::dims{1, space.hidden}};
}

std::unique_ptr<PrimitiveKernel> make_product(const Layout& a, const Layout& b, const Layout& y,
                                              const KernelRequest& request, const dnnl::engine& engine) {
  const auto desc = describe<dnnl::matmul>(engine, user_scratchpad(), a, b, y);
  auto kernel = std::make_unique<PrimitiveKernel>(dnnl::matmul(desc), desc, engine);
  kernel->inputs = plain_layouts(request.inputs);
  kernel->outputs = plain_layouts(request.outputs);
  return kernel;
}

// The pass over the gates, then the product of its dgates with w.
class StatefulBackward : public Kernel {
 public:
  StatefulBackward(std::unique_ptr<PrimitiveKernel> product, LoopKernel::Body gates)
      : product_(std::move(product)), gates_(std::move(gates)) {
    implementation = product_->implementation;
    inputs = product_->inputs;
    outputs = product_->outputs;
    workspace_bytes = product_->workspace_bytes;
  }
  Status run(Operands operands, const StepContext& context) override {
    SLUICE_RETURN_IF_ERROR(gates_(operands, context));
    return product_->run(operands, context);
  }

 private:
  std::unique_ptr<PrimitiveKernel> product_;
  LoopKernel::Body gates_;
};

KernelPtr make_lstm_cell(const KernelRequest& request, const dnnl::engine& engine) {
  const CellSpace space(request.inputs[0].shape);
  const graph::DType dtype = request.inputs[0].dtype;
  if (!request.as<graph::RecurrentAttributes>().state) {
    return std::make_unique<LoopKernel>(request, [space, dtype](Operands operands, const StepContext& /*context*/) {
      with_element(dtype, [&]<typename T>(T) { forward<T>(space, nullptr, operands); });
      return Status{};
    });
  }
  const Layout h = row_major(space.batch, space.hidden, dtype);
  const Layout w = transposed_weights(space, dtype);
  const Layout recurrent = row_major(space.batch, 4 * space.hidden, graph::DType::kF32);
  auto kernel = make_product(h, w, recurrent, request, engine);
  constexpr std::size_t kWorkspace = 7;
  const Bytes offset = align_up(kernel->workspace_bytes, 64);
  kernel->bind(DNNL_ARG_SRC, 1, h);
  kernel->bind(DNNL_ARG_WEIGHTS, 3, w);
  kernel->bind(DNNL_ARG_DST, kWorkspace, recurrent, offset);
  kernel->bind_scratchpad();
  kernel->workspace_bytes = offset + bytes_of(recurrent);
  kernel->then([space, dtype, offset](Operands operands) {
    const auto* product = reinterpret_cast<const float*>(operand<std::byte>(operands, kWorkspace) + offset);
    with_element(dtype, [&]<typename T>(T) { forward<T>(space, product, operands); });
  });
  return kernel;
}

KernelPtr make_lstm_cell_backward(const KernelRequest& request, const dnnl::engine& engine) {
  const CellSpace space(request.inputs[1].shape);
  const graph::DType dtype = request.inputs[1].dtype;
  const LoopKernel::Body gates = [space, dtype, attributes = request.as<graph::RecurrentAttributes>()](
                                     Operands operands, const StepContext& /*context*/) {
    with_element(dtype, [&]<typename T>(T) { backward<T>(space, attributes, operands); });
    return Status{};
  };
  if (!request.as<graph::RecurrentAttributes>().state) return std::make_unique<LoopKernel>(request, gates);
  const Layout dgates = row_major(space.batch, 4 * space.hidden, dtype);
  const Layout w = row_major(4 * space.hidden, space.hidden, dtype);
  const Layout dh = row_major(space.batch, space.hidden, dtype);
  auto product = make_product(dgates, w, dh, request, engine);
  const std::size_t output = request.inputs.size();
  product->bind(DNNL_ARG_SRC, output, dgates);
  product->bind(DNNL_ARG_WEIGHTS, 4, w);
  product->bind(DNNL_ARG_DST, output + 1, dh);
  product->bind_scratchpad();
  return std::make_unique<StatefulBackward>(std::move(product), gates);
}

}  // namespace

KernelMakers lstm_kernels() {
  return {
      {graph::OpKind::kLstmCell, make_lstm_cell},
      {graph::OpKind::kLstmCellBackward, make_lstm_cell_backward},
  };
}

}  // namespace sluice::kernels
