// Batched matrix products. A permutation is only other strides: oneDNN's matmul reads and writes heads where they lie
// in [B, S, H, D], so attention moves nothing but what it computes. One of an operand's last two dimensions must have
// its elements side by side; where neither has, the operand is packed in the workspace, before or after.
#include "sluice/base/as_index.hpp"
#include "sluice/kernels/onednn/primitive_kernel.hpp"

namespace sluice::kernels {
namespace {

using dnnl::memory;

// An operand as the product sees it: [..., rows, columns] with strides.
struct Matrices {
  memory::dims extents;
  memory::dims strides;
  memory::data_type type;

  std::size_t rank() const { return extents.size(); }
  Layout layout() const { return {extents, type, strides}; }
  bool side_by_side(std::size_t from_end) const {
    return strides[rank() - from_end] == 1 || extents[rank() - from_end] == 1;
  }
  bool needs_packing() const { return !side_by_side(1) && !side_by_side(2); }
  Matrices packed() const {
    Matrices result = *this;
    std::int64_t stride = 1;
    for (std::size_t i = rank(); i-- > 0;) {
      result.strides[i] = stride;
      stride *= extents[i];
    }
    return result;
  }
  Matrices transposed() const {
    Matrices result = *this;
    std::swap(result.extents[rank() - 1], result.extents[rank() - 2]);
    std::swap(result.strides[rank() - 1], result.strides[rank() - 2]);
    return result;
  }
};

Matrices matrices_of(const OperandRequest& operand) {
  return Matrices{operand.shape, memory::dims(operand.shape.size()), onednn_type(operand.dtype)}.packed();
}

// a and b: dimension i is the operand's perm[i].
Matrices permuted(const OperandRequest& operand, const std::vector<std::int64_t>& perm) {
  const Matrices stored = matrices_of(operand);
  Matrices result = stored;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    result.extents[i] = stored.extents[as_index(perm[i])];
    result.strides[i] = stored.strides[as_index(perm[i])];
  }
  return result;
}

// y: its dimension i is the product's perm[i].
Matrices product_in(const OperandRequest& y, const std::vector<std::int64_t>& perm) {
  const Matrices stored = matrices_of(y);
  Matrices result = stored;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    result.extents[as_index(perm[i])] = stored.extents[i];
    result.strides[as_index(perm[i])] = stored.strides[i];
  }
  return result;
}

// The product, with an operand's copy before or after where it must be packed.
class MatMul : public Kernel {
 public:
  MatMul(const KernelRequest& request, const dnnl::engine& engine) : engine_(engine), stream_(engine) {
    const graph::ProductAttributes& attributes = request.as<graph::ProductAttributes>();
    Matrices a = permuted(request.inputs[0], attributes.perm_a);
    Matrices b = permuted(request.inputs[1], attributes.perm_b);
    Matrices y = product_in(request.outputs[0], attributes.perm_y);
    inputs = plain_layouts(request.inputs);
    outputs = plain_layouts(request.outputs);
    std::size_t a_operand = 0;
    std::size_t b_operand = 1;
    if (!y.side_by_side(1) && y.side_by_side(2)) {  // y^T = b^T a^T
      std::swap(a, b);
      std::swap(a_operand, b_operand);
      a = a.transposed();
      b = b.transposed();
      y = y.transposed();
    }
    const Place from_a = packed_source(a, a_operand);
    const Place from_b = packed_source(b, b_operand);
    const bool apart = !y.side_by_side(1);
    const Place to_y = apart ? reserve(y.packed().layout()) : Place{2, 0};
    add_product(from_a, a, from_b, b, to_y, apart ? y.packed() : y, attributes.factor);
    if (apart) add_reorder(to_y, y.packed().layout(), {2, 0}, y.layout());
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    for (Binding& binding : bindings_)
      binding.bytes.set_data_handle(static_cast<std::byte*>(operands[binding.place.operand]) + binding.place.offset);
    for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
    stream_.wait();
    return {};
  }

 private:
  static constexpr std::size_t kWorkspace = 3;

  struct Place {
    std::size_t operand;
    Bytes offset;
  };
  struct Binding {
    Place place;
    memory bytes;
  };
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };

  Place reserve(const Layout& layout) {
    const Place place{kWorkspace, workspace_bytes};
    workspace_bytes += align_up(bytes_of(layout), 64);
    return place;
  }

  memory bind(const Place& place, const Layout& layout) {
    return bindings_.emplace_back(Binding{place, memory(layout, engine_, DNNL_MEMORY_NONE)}).bytes;
  }

  Place packed_source(Matrices& matrices, std::size_t operand) {
    const Place source{operand, 0};
    if (!matrices.needs_packing()) return source;
    const Matrices packed = matrices.packed();
    const Place target = reserve(packed.layout());
    add_reorder(source, matrices.layout(), target, packed.layout());
    matrices = packed;
    return target;
  }

  void add_reorder(const Place& from, const Layout& from_layout, const Place& to, const Layout& to_layout) {
    const dnnl::reorder::primitive_desc desc(engine_, from_layout, engine_, to_layout, user_scratchpad());
    const Layout scratch = desc.scratchpad_desc();
    steps_.push_back({dnnl::reorder(desc),
                      {{DNNL_ARG_FROM, bind(from, from_layout)},
                       {DNNL_ARG_TO, bind(to, to_layout)},
                       {DNNL_ARG_SCRATCHPAD, bind(reserve(scratch), scratch)}}});
  }

  void add_product(const Place& a, const Matrices& a_matrices, const Place& b, const Matrices& b_matrices,
                   const Place& y, const Matrices& y_matrices, float alpha) {
    dnnl::primitive_attr attributes = user_scratchpad();
    if (alpha != 1.0F) scale_result(attributes, alpha);
    const auto desc =
        describe<dnnl::matmul>(engine_, attributes, a_matrices.layout(), b_matrices.layout(), y_matrices.layout());
    implementation = desc.impl_info_str();
    const Layout scratch = desc.scratchpad_desc();
    steps_.push_back({dnnl::matmul(desc),
                      {{DNNL_ARG_SRC, bind(a, a_matrices.layout())},
                       {DNNL_ARG_WEIGHTS, bind(b, b_matrices.layout())},
                       {DNNL_ARG_DST, bind(y, y_matrices.layout())},
                       {DNNL_ARG_SCRATCHPAD, bind(reserve(scratch), scratch)}}});
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Binding> bindings_;
  std::vector<Step> steps_;
};

KernelPtr make_matmul(const KernelRequest& request, const dnnl::engine& engine) {
  return std::make_unique<MatMul>(request, engine);
}

}  // namespace

KernelMakers matmul_kernels() {
  return {
      {graph::OpKind::kMatMul, make_matmul},
  };
}

}  // namespace sluice::kernels
