#include "sluice/kernels/onednn/fp16_kernel.hpp"

#include <algorithm>
#include <array>

#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/kernels/onednn/loops/convert.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"

namespace sluice::kernels {
namespace {

bool is_fp16(const OperandRequest& operand) { return operand.dtype == graph::DType::kF16; }
bool is_fp16(const Layout& layout) { return type_of(layout) == dnnl::memory::data_type::f16; }

bool reads_16_bits(graph::OpKind kind) {
  constexpr std::array kKinds{
      graph::OpKind::kCast,
      graph::OpKind::kSquaredSum,
      graph::OpKind::kDelayGradient,
      graph::OpKind::kAccumulateGradient,
      graph::OpKind::kReduceScatter,
      graph::OpKind::kOwnPart,
      graph::OpKind::kAllGather,
      graph::OpKind::kBatchNorm,
      graph::OpKind::kBatchNormApply,
      graph::OpKind::kBatchNormBackward,
      graph::OpKind::kBatchNormStatistics,
      graph::OpKind::kBatchNormBackwardSums,
      graph::OpKind::kBatchNormBackwardApply,
  };
  return graph::is_update(kind) || std::ranges::find(kKinds, kind) != kKinds.end();
}

// By loops of our own: oneDNN might flush what are denormals in bf16.
bool moves_elements(const KernelRequest& request) {
  constexpr std::array kKinds{graph::OpKind::kConcat,    graph::OpKind::kSlice,      graph::OpKind::kPad,
                              graph::OpKind::kBroadcast, graph::OpKind::kSliceBatch, graph::OpKind::kPlaceBatch};
  return graph::fused_activation(request.attributes) == graph::Activation::kNone &&
         std::ranges::find(kKinds, request.kind) != kKinds.end();
}

// `values` of another type where they are fp16.
std::vector<OperandRequest> with_stand_in(std::vector<OperandRequest> operands, graph::DType stand_in) {
  for (OperandRequest& operand : operands) {
    if (!is_fp16(operand)) continue;
    operand.dtype = stand_in;
    if (operand.layout) operand.layout = with_type(*operand.layout, stand_in);
  }
  return operands;
}

// Layouts of a kernel that was made for a stand-in, in the types of the request.
std::vector<Layout> in_own_types(const std::vector<Layout>& made, const std::vector<OperandRequest>& operands) {
  std::vector<Layout> layouts = made;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (is_fp16(operands[i])) layouts[i] = with_type(made[i], graph::DType::kF16);
  }
  return layouts;
}

// A kernel for another type, run on copies of what is fp16, or on the bits themselves.
class StandInKernel : public Kernel {
 public:
  StandInKernel(KernelPtr made, std::vector<Layout> own_inputs, std::vector<Layout> own_outputs, bool copies)
      : made_(std::move(made)), first_output_(own_inputs.size()) {
    implementation = made_->implementation;
    workspace_bytes = made_->workspace_bytes;
    inputs = std::move(own_inputs);
    outputs = std::move(own_outputs);
    if (!copies) return;
    add_copies(inputs, 0);
    add_copies(outputs, first_output_);
  }

  Status run(Operands operands, const StepContext& context) override {
    std::vector<void*> seen(operands.begin(), operands.end());
    for (const Copy& copy : copies_) {
      void* const place = place_of(copy, operands);
      seen[copy.operand] = place;
      const bool is_read = copy.operand < first_output_;
      if (is_read)
        convert(static_cast<const Float16*>(operands[copy.operand]), copy.elements, static_cast<float*>(place));
    }
    if (made_->workspace_bytes == 0) seen.resize(inputs.size() + outputs.size());
    SLUICE_RETURN_IF_ERROR(made_->run(seen, context));
    for (const Copy& copy : copies_) {
      if (copy.operand < first_output_) continue;
      convert(static_cast<const float*>(seen[copy.operand]), copy.elements,
              static_cast<Float16*>(operands[copy.operand]));
    }
    return {};
  }

 private:
  struct Copy {
    std::size_t operand;
    std::int64_t elements;
    Bytes offset;  // in the workspace, behind the kernel's own
  };

  void add_copies(const std::vector<Layout>& layouts, std::size_t first) {
    constexpr Bytes kAlignment = 64;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      if (!is_fp16(layouts[i])) continue;
      const Bytes offset = (workspace_bytes + kAlignment - 1) / kAlignment * kAlignment;
      const std::int64_t elements = stored_elements(layouts[i]);
      copies_.push_back({first + i, elements, offset});
      workspace_bytes = offset + elements * size_of(graph::DType::kF32);
    }
  }

  // Operands that are one tensor have one copy: the last one's, which may be an output.
  void* place_of(const Copy& copy, Operands operands) const {
    const auto same = std::find_if(copies_.rbegin(), copies_.rend(), [&](const Copy& other) {
      return operands[other.operand] == operands[copy.operand];
    });
    return static_cast<std::byte*>(operands.back()) + same->offset;
  }

  KernelPtr made_;
  std::size_t first_output_;
  std::vector<Copy> copies_;
};

}  // namespace

bool wants_fp16_kernel(const KernelRequest& request) {
  const auto has_fp16 = [](const std::vector<OperandRequest>& operands) {
    return std::ranges::any_of(operands, [](const OperandRequest& operand) { return is_fp16(operand); });
  };
  return !reads_16_bits(request.kind) && (has_fp16(request.inputs) || has_fp16(request.outputs));
}

KernelPtr make_fp16_kernel(const KernelRequest& request, const dnnl::engine& engine, KernelMaker make) {
  const bool moves = moves_elements(request);
  const graph::DType stand_in = moves ? graph::DType::kBF16 : graph::DType::kF32;
  KernelRequest other = request;
  other.inputs = with_stand_in(request.inputs, stand_in);
  other.outputs = with_stand_in(request.outputs, stand_in);
  KernelPtr made = make(other, engine);
  std::vector<Layout> inputs = in_own_types(made->inputs, request.inputs);
  std::vector<Layout> outputs = in_own_types(made->outputs, request.outputs);
  return std::make_unique<StandInKernel>(std::move(made), std::move(inputs), std::move(outputs), !moves);
}

KernelPtr make_fp16_reorder(const Layout& from, const Layout& to, const dnnl::engine& engine) {
  KernelPtr made = make_reorder(is_fp16(from) ? with_type(from, graph::DType::kF32) : from,
                                is_fp16(to) ? with_type(to, graph::DType::kF32) : to, engine);
  return std::make_unique<StandInKernel>(std::move(made), std::vector{from}, std::vector{to}, true);
}

}  // namespace sluice::kernels
