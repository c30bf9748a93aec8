#include "sluice/kernels/reference/reference_backend.hpp"

#include <algorithm>
#include <map>

#include "sluice/graph/in_place.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/kernels/bf16.hpp"
#include "sluice/kernels/fp16.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

Status fill_input(const ReferenceCall& call) {
  const StepContext& context = call.context();
  SLUICE_CHECK(context.input != nullptr, "a step with an input op needs an input source");
  std::vector<std::span<std::byte>> tensors;
  for (std::size_t i = 0; i < call.output_count(); ++i)
    tensors.push_back(std::as_writable_bytes(call.output<std::uint32_t>(i)));  // fp32 and i32 alike
  return context.input->fill(batch_of(call.as<graph::InputAttributes>(), context.step), tensors);
}

template <typename Half>
void widen_from(const Half* from, std::span<float> values) {
  std::transform(from, from + values.size(), values.begin(), [](Half value) { return to_float(value); });
}

void widen(graph::DType half, const void* stored, std::span<float> values) {
  half == graph::DType::kF16 ? widen_from(static_cast<const Float16*>(stored), values)
                             : widen_from(static_cast<const BFloat16*>(stored), values);
}

void round_to(graph::DType half, std::span<const float> values, void* stored) {
  if (half == graph::DType::kF16) {
    std::transform(values.begin(), values.end(), static_cast<Float16*>(stored), to_fp16);
  } else {
    std::transform(values.begin(), values.end(), static_cast<BFloat16*>(stored), to_bf16);
  }
}

// The operands as kernels see them: tensors of 16 bits are fp32 copies, one a tensor, so that in-place ops stay in place.
class WideOperands {
 public:
  WideOperands(const graph::Graph& graph, const graph::Op& op, std::span<void* const> stored) : graph_(graph), op_(op) {
    pointers_.assign(stored.begin(), stored.end());
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
      const graph::TensorId id = i < op.inputs.size() ? op.inputs[i] : op.outputs[i - op.inputs.size()];
      if (!graph::is_half(graph.tensor(id).dtype)) continue;
      const auto [copy, is_new] = copies_.try_emplace(id, graph::element_count(graph.tensor(id).shape));
      if (is_new) widen(graph.tensor(id).dtype, pointers_[i], copy->second);
      pointers_[i] = copy->second.data();
    }
  }

  std::span<void* const> pointers() const { return pointers_; }

  void store_outputs(std::span<void* const> stored) const {
    for (std::size_t i = 0; i < op_.outputs.size(); ++i) {
      const auto copy = copies_.find(op_.outputs[i]);
      if (copy == copies_.end()) continue;
      round_to(graph_.tensor(op_.outputs[i]).dtype, copy->second, stored[op_.inputs.size() + i]);
    }
  }

 private:
  const graph::Graph& graph_;
  const graph::Op& op_;
  std::map<graph::TensorId, std::vector<float>> copies_;
  std::vector<void*> pointers_;
};

class ReferenceGraph : public CompiledGraph {
 public:
  explicit ReferenceGraph(graph::Graph graph) : graph_(std::move(graph)) {}

  std::unique_ptr<CompiledGraph> rescheduled(const graph::Rescheduled& step) const override {
    return std::make_unique<ReferenceGraph>(step.graph);
  }

  const graph::Graph& graph() const override { return graph_; }

  Status run(graph::OpIndex op, std::span<void* const> operands, const StepContext& context) override {
    WideOperands wide(graph_, graph_.op(op), operands);
    const ReferenceCall call(graph_, graph_.op(op), wide.pointers(), context);
    if (call.op().kind == graph::OpKind::kInput) {
      SLUICE_RETURN_IF_ERROR(fill_input(call));
    } else {
      run_reference_kernel(call);
    }
    wide.store_outputs(operands);
    return {};
  }

  void to_plain(graph::TensorId tensor, const void* stored, std::span<float> plain) override {
    if (const graph::DType dtype = type_of(tensor); graph::is_half(dtype)) return widen(dtype, stored, plain);
    std::copy_n(static_cast<const float*>(stored), plain.size(), plain.data());
  }

  void from_plain(graph::TensorId tensor, std::span<const float> plain, void* stored) override {
    if (const graph::DType dtype = type_of(tensor); graph::is_half(dtype)) return round_to(dtype, plain, stored);
    std::copy_n(plain.data(), plain.size(), static_cast<float*>(stored));
  }

 private:
  graph::DType type_of(graph::TensorId id) const {
    const graph::Tensor& tensor = graph_.tensor(id);
    SLUICE_CHECK(tensor.dtype == graph::DType::kF32 || graph::is_half(tensor.dtype),
                 tensor.name + " holds integers: it has no row-major fp32 form");
    return tensor.dtype;
  }

  graph::Graph graph_;
};

const std::string kPlain = graph::Tensor{}.layout;

class ReferenceBackend : public Backend {
 public:
  using Backend::compile;
  std::string name() const override { return "reference"; }

  Result<std::unique_ptr<CompiledGraph>> compile(const graph::Graph& logical,
                                                 const std::vector<int>& /*threads*/) override {
    graph::Graph graph = logical;
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) graph.op(op).implementations = {{"reference", 0}};
    graph::set_in_place_candidates(graph);
    graph::merge_in_place(graph);
    return std::unique_ptr<CompiledGraph>(std::make_unique<ReferenceGraph>(std::move(graph)));
  }

  // Row-major operands in the shapes that they were made in; of an update, which goes element by element, operands in
  // any one layout that pads nothing.
  bool takes_over(const graph::Graph& executable, const graph::Op& op) const override {
    std::vector<graph::TensorId> operands = op.inputs;
    operands.insert(operands.end(), op.outputs.begin(), op.outputs.end());
    const std::string& layout = graph::is_update(op.kind) ? executable.tensor(op.inputs.at(0)).layout : kPlain;
    const bool of_ranks = graph::is_collective(op) || op.kind == graph::OpKind::kOwnPart;  // it runs one rank alone
    return op.kind != graph::OpKind::kReorder && !of_ranks && op.views.empty() &&
           std::ranges::all_of(operands, [&](graph::TensorId id) {
             const graph::Tensor& tensor = executable.tensor(id);
             const bool padded = tensor.bytes != graph::element_count(tensor.shape) * size_of(tensor.dtype);
             return tensor.role != graph::Role::kWorkspace && tensor.layout == layout && !padded;
           });
  }

  std::unique_ptr<CompiledGraph> kernels_for(const graph::Graph& executable, int /*threads*/) override {
    return std::make_unique<ReferenceGraph>(executable);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace sluice::kernels
