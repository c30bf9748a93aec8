#include "sluice/exec/backends/onednn/lowering.hpp"

#include <algorithm>
#include <map>

#include "sluice/graph/in_place.hpp"

namespace sluice {
namespace {

constexpr TensorId kNowhere = -1;

// Equal requests get one kernel: a network repeats its blocks, and a primitive costs up to 0.5 ms to create.
class KernelCache {
 public:
  explicit KernelCache(const dnnl::engine& engine) : engine_(engine) {}

  std::shared_ptr<Kernel> find_or_make(const KernelRequest& request) {
    for (const auto& [known, kernel] : kernels_)
      if (known == request) return kernel;
    return kernels_.emplace_back(request, make_kernel(request, engine_)).second;
  }

  std::shared_ptr<Kernel> find_or_make_reorder(const Layout& from, const Layout& to) {
    for (const auto& kernel : reorders_)
      if (kernel->inputs[0] == from && kernel->outputs[0] == to) return kernel;
    return reorders_.emplace_back(make_reorder(from, to, engine_));
  }

 private:
  const dnnl::engine& engine_;
  std::vector<std::pair<KernelRequest, std::shared_ptr<Kernel>>> kernels_;
  std::vector<std::shared_ptr<Kernel>> reorders_;
};

class Lowering {
 public:
  Lowering(const Graph& logical, const dnnl::engine& engine)
      : logical_(logical), cache_(engine), home_(logical.tensors().size(), kNowhere) {
    result_.graph.name = logical.name;
    result_.graph.layers = logical.layers;
    for (const Op& op : logical.ops())
      if (op.kind == OpKind::kSgdUpdate) parameter_of_gradient_[op.inputs[1]] = op.inputs[0];
  }

  LoweredGraph run() && {
    for (const Op& op : logical_.ops()) lower(op);
    merge();
    return std::move(result_);
  }

 private:
  TensorId& home(TensorId logical) { return home_[static_cast<std::size_t>(logical)]; }
  const Layout& layout(TensorId id) const { return result_.layouts[static_cast<std::size_t>(id)]; }

  // What is decided about a logical tensor: its own layout, or for a gradient that of its parameter.
  std::optional<Layout> decided_layout(TensorId logical) {
    if (home(logical) != kNowhere) return layout(home(logical));
    const auto parameter = parameter_of_gradient_.find(logical);
    if (parameter == parameter_of_gradient_.end() || home(parameter->second) == kNowhere) return std::nullopt;
    return layout(home(parameter->second));
  }

  OperandRequest request_operand(TensorId logical) {
    const Tensor& tensor = logical_.tensor(logical);
    return {tensor.shape, tensor.dtype, decided_layout(logical)};
  }

  void lower(const Op& op) {
    KernelRequest request{.kind = op.kind, .attributes = op.attributes, .inputs = {}, .outputs = {}};
    for (const TensorId id : op.inputs) request.inputs.push_back(request_operand(id));
    for (const TensorId id : op.outputs) request.outputs.push_back(request_operand(id));
    const std::shared_ptr<Kernel> kernel = cache_.find_or_make(request);

    Op lowered = op;
    lowered.inputs.clear();
    lowered.outputs.clear();
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      lowered.inputs.push_back(input_as(op.inputs[i], kernel->inputs[i], op));
    std::vector<std::pair<TensorId, TensorId>> moves;  // from what the kernel writes to where the tensor lives
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      lowered.outputs.push_back(output_as(op.outputs[i], kernel->outputs[i], moves));
    add_op(std::move(lowered), kernel);
    for (const auto& [from, to] : moves) add_reorder(from, to, op);
  }

  // The tensor to read `logical` from in layout `wanted`: itself, a copy made before, or the output of a new reorder.
  TensorId input_as(TensorId logical, const Layout& wanted, const Op& consumer) {
    if (home(logical) == kNowhere) home(logical) = add_tensor(logical_.tensor(logical), wanted);
    const TensorId stored = home(logical);
    if (same_bytes(layout(stored), wanted)) return stored;
    for (const TensorId copy : copies_[logical])
      if (same_bytes(layout(copy), wanted)) return copy;

    const bool rewritten = std::count(consumer.outputs.begin(), consumer.outputs.end(), logical) > 0;
    SLUICE_CHECK(!rewritten, consumer.name + " updates " + logical_.tensor(logical).name + " in another layout");
    const TensorId copy = add_copy(logical, wanted);
    copies_[logical].push_back(copy);
    add_reorder(stored, copy, consumer);
    return copy;
  }

  // The tensor that the kernel writes for `logical`; where that is not its home, a move is noted.
  TensorId output_as(TensorId logical, const Layout& written, std::vector<std::pair<TensorId, TensorId>>& moves) {
    copies_.erase(logical);
    const Layout wanted = decided_layout(logical).value_or(written);
    if (home(logical) == kNowhere) home(logical) = add_tensor(logical_.tensor(logical), wanted);
    if (same_bytes(wanted, written)) return home(logical);
    const TensorId copy = add_copy(logical, written);
    moves.emplace_back(copy, home(logical));
    return copy;
  }

  TensorId add_tensor(Tensor tensor, const Layout& stored) {
    tensor.bytes = static_cast<Bytes>(stored.get_size());
    tensor.layout = layout_name(stored);
    result_.layouts.push_back(stored);
    return result_.graph.add_tensor(std::move(tensor));
  }

  // Copies of what outlives its op become ordinary activations; those of weights are scratch.
  TensorId add_copy(TensorId logical, const Layout& stored) {
    Tensor tensor = logical_.tensor(logical);
    const bool flows = tensor.role == Role::kActivation || tensor.role == Role::kActivationGradient;
    tensor.role = flows ? tensor.role : Role::kWorkspace;
    tensor.init = {};
    tensor.name += "." + layout_name(stored);
    return add_tensor(std::move(tensor), stored);
  }

  void add_reorder(TensorId from, TensorId to, const Op& neighbour) {
    Op op;
    op.name = neighbour.name + ".reorder";
    op.kind = OpKind::kReorder;
    op.inputs = {from};
    op.outputs = {to};
    op.layer = neighbour.layer;
    op.phase = neighbour.phase;
    add_op(std::move(op), cache_.find_or_make_reorder(layout(from), layout(to)));
  }

  void add_op(Op op, const std::shared_ptr<Kernel>& kernel) {
    if (kernel->workspace_bytes > 0) {
      const Tensor scratch{.name = op.name + ".workspace",
                           .shape = {kernel->workspace_bytes},
                           .dtype = DType::kU8,
                           .role = Role::kWorkspace};
      op.outputs.push_back(add_tensor(scratch, plain_layout(scratch.shape, scratch.dtype)));
    }
    op.implementations = {{kernel->implementation, kernel->workspace_bytes}};
    result_.graph.add_op(std::move(op));
    result_.kernels.push_back(kernel);
  }

  void merge() {
    set_in_place_candidates(result_.graph);
    const std::vector<TensorId> new_id = merge_in_place(result_.graph);
    std::vector<Layout> layouts(result_.graph.tensors().size());
    // Backwards, so that a storage keeps the layout of its first tensor; merged ones are the same bytes anyway.
    for (std::size_t i = new_id.size(); i-- > 0;) layouts[static_cast<std::size_t>(new_id[i])] = result_.layouts[i];
    result_.layouts = std::move(layouts);
  }

  const Graph& logical_;
  KernelCache cache_;
  std::vector<TensorId> home_;                          // by logical id: the executable tensor that stores it
  std::map<TensorId, std::vector<TensorId>> copies_;    // by logical id: valid reordered copies
  std::map<TensorId, TensorId> parameter_of_gradient_;  // logical ids
  LoweredGraph result_;
};

}  // namespace

LoweredGraph lower_to_onednn(const Graph& logical, const dnnl::engine& engine) {
  return Lowering(logical, engine).run();
}

}  // namespace sluice
