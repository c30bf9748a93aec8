#include "sluice/kernels/onednn/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/graph/footprint.hpp"
#include "sluice/graph/in_place.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/kernels/onednn/kernel_cache.hpp"

namespace sluice::kernels {
namespace {

constexpr graph::TensorId kNowhere = -1;

// Where a logical tensor is: the executable tensor that stores it, and how its bytes lie in the logical shape. Views of
// one storage have several shapes.
struct Home {
  graph::TensorId storage = kNowhere;
  Layout layout;
};

// The parameter that each gradient updates, for gradients and for what is summed, cast or delayed to make them.
std::map<graph::TensorId, graph::TensorId> parameters_of_gradients(const graph::Graph& logical) {
  constexpr std::array kPassedOn{graph::OpKind::kAdd, graph::OpKind::kCast, graph::OpKind::kDelayGradient,
                                 graph::OpKind::kAccumulateGradient};
  std::map<graph::TensorId, graph::TensorId> parameter_of;
  for (const graph::Op& op : logical.ops()) {
    if (graph::is_update(op.kind)) parameter_of[op.inputs[1]] = op.inputs[0];
  }
  for (auto op = logical.ops().rbegin(); op != logical.ops().rend(); ++op) {
    if (std::ranges::find(kPassedOn, op->kind) == kPassedOn.end()) continue;
    const auto whole = parameter_of.find(op->outputs[0]);
    if (whole == parameter_of.end()) continue;
    for (const graph::TensorId part : op->inputs) parameter_of.emplace(part, whole->second);
  }
  return parameter_of;
}

// By master (half_parameters.hpp): the bf16 parameter that its update writes.
std::map<graph::TensorId, graph::TensorId> halves_of_masters(const graph::Graph& logical) {
  std::map<graph::TensorId, graph::TensorId> half_of;
  for (const graph::Op& op : logical.ops()) {
    if (graph::is_update(op.kind) && has_master(op)) half_of[op.inputs[0]] = op.outputs.back();
  }
  return half_of;
}

// An op and its scratch should leave room beside them at a budget of a fifth of the peak.
Bytes granted_scratch(const graph::Graph& logical) {
  constexpr Bytes kShare = 8;
  return graph::measure_footprint(logical).peak / kShare;
}

class Lowering {
 public:
  Lowering(const graph::Graph& logical, const dnnl::engine& engine, const std::vector<int>& threads)
      : logical_(logical),
        cache_(engine, threads.front()),
        homes_(logical.tensors().size()),
        parameter_of_gradient_(parameters_of_gradients(logical)),
        half_of_master_(halves_of_masters(logical)),
        scratch_(granted_scratch(logical)) {
    // Of the main one's number of threads, too: there a kernel is made for layouts that are fixed, and may be another one.
    for (const int each : std::set<int>(threads.begin() + 1, threads.end())) others_.emplace_back(engine, each);
    result_.graph.name = logical.name;
    result_.graph.layers = logical.layers;
  }

  LoweredGraph run() && {
    for (const graph::Op& op : logical_.ops()) {
      if (op.kind == graph::OpKind::kReshape) {
        lower_reshape(op);
      } else if (casts_weight(op)) {
        weight_casts_.emplace(op.outputs[0], op);
      } else {
        lower(op);
      }
    }
    merge();
    return std::move(result_);
  }

 private:
  Home& home(graph::TensorId logical) { return homes_[as_index(logical)]; }
  bool placed(graph::TensorId logical) { return home(logical).storage != kNowhere; }

  // What is decided about a logical tensor: its own layout, for a gradient that of its parameter, and for a master that
  // of the parameter in bf16.
  std::optional<Layout> decided_layout(graph::TensorId logical) {
    if (placed(logical)) return home(logical).layout;
    const graph::DType dtype = logical_.tensor(logical).dtype;
    if (const auto half = half_of_master_.find(logical); half != half_of_master_.end()) {
      if (!placed(half->second)) return std::nullopt;
      return without_pairs(with_type(home(half->second).layout, dtype));
    }
    const auto parameter = parameter_of_gradient_.find(logical);
    if (parameter == parameter_of_gradient_.end()) return std::nullopt;
    const std::optional<Layout> layout = decided_layout(parameter->second);
    if (!layout || dtype == logical_.tensor(parameter->second).dtype) return layout;
    return half_of_master_.contains(parameter->second) ? std::optional(with_type(*layout, dtype)) : std::nullopt;
  }

  OperandRequest request_operand(graph::TensorId logical) {
    const graph::Tensor& tensor = logical_.tensor(logical);
    return {tensor.shape, tensor.dtype, decided_layout(logical)};
  }

  void lower(const graph::Op& op) {
    KernelRequest request{.kind = op.kind,
                          .attributes = op.attributes,
                          .slice = op.slice,
                          .inputs = {},
                          .outputs = {},
                          .scratch = scratch_};
    for (const graph::TensorId id : op.inputs) request.inputs.push_back(request_operand(id));
    for (const graph::TensorId id : op.outputs) request.outputs.push_back(request_operand(id));
    const std::shared_ptr<Kernel> kernel = cache_.find_or_make(request);

    graph::Op lowered = op;
    lowered.inputs.clear();
    lowered.outputs.clear();
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      lowered.inputs.push_back(input_as(op.inputs[i], kernel->inputs[i], op));
    std::vector<std::pair<Home, Home>> moves;  // from what the kernel writes to where the tensor lives
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      lowered.outputs.push_back(output_as(op.outputs[i], kernel->outputs[i], moves));
    lowered.views = views_of(op, lowered);
    add_op(std::move(lowered), kernel, requests_of(request, *kernel));
    for (const auto& [from, to] : moves) add_reorder(from, to, op);
  }

  // A view of x's bytes where these are row-major, else of a row-major copy.
  void lower_reshape(const graph::Op& op) {
    const graph::Tensor& y = logical_.tensor(op.outputs[0]);
    const Layout row_major = plain_layout(logical_.tensor(op.inputs[0]).shape, y.dtype);
    const graph::TensorId storage = input_as(op.inputs[0], row_major, op);
    home(op.outputs[0]) = {storage, plain_layout(y.shape, y.dtype)};
    if (y.role == graph::Role::kGradient || y.role == graph::Role::kOutput) result_.graph.tensor(storage).role = y.role;
  }

  // Weights are rounded as a reader of the rounded ones comes, to the layout that it wants, in one pass.
  bool casts_weight(const graph::Op& op) const {
    return op.kind == graph::OpKind::kCast && logical_.tensor(op.inputs[0]).role == graph::Role::kParameter;
  }

  void cast_weight(const graph::Op& cast, const Layout& wanted) {
    const graph::TensorId weight = cast.inputs[0];
    const graph::Tensor& tensor = logical_.tensor(weight);
    if (!placed(weight)) {
      const Layout stored = without_pairs(with_type(wanted, tensor.dtype));
      home(weight) = {add_tensor(tensor, stored), stored};
    }
    home(cast.outputs[0]) = {add_tensor(logical_.tensor(cast.outputs[0]), wanted), wanted};
    graph::Op lowered = cast;
    lowered.inputs = {home(weight).storage};
    lowered.outputs = {home(cast.outputs[0]).storage};
    add_op(std::move(lowered), cache_.find_or_make_reorder(home(weight).layout, wanted));
  }

  // "0:[8, 16]" for operand 0 seen in that shape, where its storage was made in another.
  std::string views_of(const graph::Op& op, const graph::Op& lowered) const {
    std::string views;
    const auto note = [&](std::size_t operand, graph::TensorId logical, graph::TensorId storage) {
      const graph::Shape& shape = logical_.tensor(logical).shape;
      if (shape == result_.graph.tensor(storage).shape) return;
      views += fmt::format("{}{}:{}", views.empty() ? "" : " ", operand, graph::to_string(shape));
    };
    for (std::size_t i = 0; i < op.inputs.size(); ++i) note(i, op.inputs[i], lowered.inputs[i]);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) note(op.inputs.size() + i, op.outputs[i], lowered.outputs[i]);
    return views;
  }

  // The tensor to read `logical` from in layout `wanted`: itself, a copy made before, or the output of a new reorder.
  graph::TensorId input_as(graph::TensorId logical, const Layout& wanted, const graph::Op& consumer) {
    if (const auto cast = weight_casts_.find(logical); cast != weight_casts_.end() && !placed(logical))
      cast_weight(cast->second, wanted);
    if (!placed(logical)) home(logical) = {add_tensor(logical_.tensor(logical), wanted), wanted};
    const Home stored = home(logical);
    if (same_bytes(stored.layout, wanted)) return stored.storage;
    for (const Home& copy : copies_[logical])
      if (same_bytes(copy.layout, wanted)) return copy.storage;

    const bool rewritten = std::count(consumer.outputs.begin(), consumer.outputs.end(), logical) > 0;
    SLUICE_CHECK(!rewritten, consumer.name + " updates " + logical_.tensor(logical).name + " in another layout");
    const Home copy{add_copy(logical, wanted), wanted};
    copies_[logical].push_back(copy);
    add_reorder(stored, copy, consumer);
    return copy.storage;
  }

  // The tensor that the kernel writes for `logical`; where that is not its home, a move is noted.
  graph::TensorId output_as(graph::TensorId logical, const Layout& written, std::vector<std::pair<Home, Home>>& moves) {
    const Layout wanted = decided_layout(logical).value_or(written);
    if (!placed(logical)) home(logical) = {add_tensor(logical_.tensor(logical), wanted), wanted};
    forget_copies(home(logical).storage);
    if (same_bytes(wanted, written)) return home(logical).storage;
    const Home copy{add_copy(logical, written), written};
    moves.emplace_back(copy, home(logical));
    return copy.storage;
  }

  // Its bytes change, and so those of all views of it.
  void forget_copies(graph::TensorId storage) {
    std::erase_if(copies_, [&](const auto& entry) { return home(entry.first).storage == storage; });
  }

  graph::TensorId add_tensor(graph::Tensor tensor, const Layout& stored) {
    tensor.bytes = bytes_of(stored);
    tensor.layout = layout_name(stored);
    result_.layouts.push_back(stored);
    return result_.graph.add_tensor(std::move(tensor));
  }

  // Copies of what outlives its op become ordinary activations; those of weights are scratch.
  graph::TensorId add_copy(graph::TensorId logical, const Layout& stored) {
    graph::Tensor tensor = logical_.tensor(logical);
    const bool flows = tensor.role == graph::Role::kActivation || tensor.role == graph::Role::kActivationGradient;
    tensor.role = flows ? tensor.role : graph::Role::kWorkspace;
    tensor.init = {};
    const std::string suffix = "." + layout_name(stored);
    tensor.part = graph::part_beside(tensor, suffix);
    tensor.name += suffix;
    return add_tensor(std::move(tensor), stored);
  }

  void add_reorder(const Home& from, const Home& to, const graph::Op& neighbour) {
    graph::Op op;
    op.name = neighbour.name + ".reorder";
    op.kind = graph::OpKind::kReorder;
    op.inputs = {from.storage};
    op.outputs = {to.storage};
    op.layer = neighbour.layer;
    op.phase = neighbour.phase;
    add_op(std::move(op), cache_.find_or_make_reorder(from.layout, to.layout));
  }

  // The first is the kernel's own, and the others are of those methods that oneDNN has in its layouts on every
  // processor.
  OpRequests requests_of(const KernelRequest& request, const Kernel& kernel) {
    OpRequests requests{in_layouts_of(request, kernel)};
    std::vector<std::pair<std::string, Bytes>> known{{kernel.implementation, kernel.workspace_bytes}};
    for (const KernelRequest& other : other_methods(request, kernel)) {
      const std::shared_ptr<Kernel> made = cache_.find_like(other, kernel);
      const auto lacks = [&](KernelCache& processor) { return processor.find_like(other, kernel) == nullptr; };
      if (made == nullptr || std::ranges::any_of(others_, lacks)) continue;
      const std::pair way(made->implementation, made->workspace_bytes);
      if (std::ranges::find(known, way) != known.end()) continue;
      known.push_back(way);
      requests.push_back(other);
    }
    return requests;
  }

  // Implementations with the workspace that they need on the processor that needs most.
  std::vector<graph::Implementation> implementations_of(const Kernel& kernel, const OpRequests& requests) {
    std::vector<graph::Implementation> found{{kernel.implementation, kernel.workspace_bytes}};
    for (std::size_t i = 1; i < requests.size(); ++i) {
      const std::shared_ptr<Kernel> made = cache_.find_or_make(requests[i]);
      found.push_back({made->implementation, made->workspace_bytes});
    }
    for (KernelCache& processor : others_) {
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const std::shared_ptr<Kernel> there = processor.find_or_make_like(requests[i], kernel);
        found[i].workspace_bytes = std::max(found[i].workspace_bytes, there->workspace_bytes);
      }
    }
    return found;
  }

  void add_op(graph::Op op, const std::shared_ptr<Kernel>& kernel, OpRequests requests = {}) {
    op.implementations = implementations_of(*kernel, requests);
    Bytes workspace = op.implementations.front().workspace_bytes;
    if (op.implementations.size() > 1) workspace = std::max(workspace, graph::kLeastWorkspace);
    if (workspace > 0) {
      const graph::Tensor scratch{.name = op.name + ".workspace",
                                  .shape = {workspace},
                                  .dtype = graph::DType::kU8,
                                  .role = graph::Role::kWorkspace};
      op.outputs.push_back(add_tensor(scratch, plain_layout(scratch.shape, scratch.dtype)));
    }
    result_.graph.add_op(std::move(op));
    result_.kernels.push_back(kernel);
    result_.requests.push_back(std::move(requests));
  }

  void merge() {
    graph::set_in_place_candidates(result_.graph);
    const std::vector<graph::TensorId> new_id = graph::merge_in_place(result_.graph);
    std::vector<Layout> layouts(result_.graph.tensors().size());
    // Backwards, so that a storage keeps the layout of its first tensor; merged ones are the same bytes anyway.
    for (std::size_t i = new_id.size(); i-- > 0;) layouts[as_index(new_id[i])] = result_.layouts[i];
    result_.layouts = std::move(layouts);
  }

  const graph::Graph& logical_;
  KernelCache cache_;                                    // of the main processor
  std::vector<KernelCache> others_;                      // of the other processors, one for each number of threads
  std::vector<Home> homes_;                              // by logical id
  std::map<graph::TensorId, std::vector<Home>> copies_;  // by logical id: valid reordered copies
  std::map<graph::TensorId, graph::Op> weight_casts_;    // by the logical id of what they make; lowered when it is read
  std::map<graph::TensorId, graph::TensorId> parameter_of_gradient_;  // logical ids
  std::map<graph::TensorId, graph::TensorId> half_of_master_;         // logical ids
  Bytes scratch_;
  LoweredGraph result_;
};

// What the apply part of a batch norm needs of its operands: the layouts in which the whole one has them.
KernelRequest apply_request(const graph::Graph& graph, const graph::Op& batch_norm, const Kernel& kernel) {
  const graph::DType dtype = graph.tensor(batch_norm.inputs[0]).dtype;
  const auto operand = [&](const Layout& layout) {
    const bool is_f32 = type_of(layout) == dnnl::memory::data_type::f32;
    return OperandRequest{dims_of(layout), is_f32 ? graph::DType::kF32 : dtype, layout};
  };
  KernelRequest request{.kind = graph::OpKind::kBatchNormApply,
                        .attributes = batch_norm.attributes,
                        .inputs = {operand(kernel.inputs[0]), operand(kernel.inputs[1]), operand(kernel.outputs[1])},
                        .outputs = {operand(kernel.outputs[0])}};
  if (batch_norm.inputs.size() > 3) request.inputs.push_back(operand(kernel.inputs[3]));
  return request;
}

// A kernel that takes more than was reserved for the op would write over other tensors.
void check_workspace(const Kernel& kernel, const graph::Graph& graph, const graph::Op& op) {
  const bool has_workspace = op.outputs.size() > kernel.outputs.size();
  const Bytes reserved = has_workspace ? graph.tensor(op.outputs.back()).bytes : 0;
  SLUICE_CHECK(kernel.workspace_bytes <= reserved,
               fmt::format("{} needs {} of workspace by {}, and {} are reserved", op.name, kernel.workspace_bytes,
                           kernel.implementation, reserved));
}

}  // namespace

LoweredGraph lower_to_onednn(const graph::Graph& logical, const dnnl::engine& engine, const std::vector<int>& threads) {
  return Lowering(logical, engine, threads).run();
}

LoweredGraph reschedule_kernels(const LoweredGraph& lowered, const graph::Rescheduled& step, const dnnl::engine& engine,
                                const std::vector<int>& threads) {
  LoweredGraph result{step.graph, {}, {}, {}};
  for (const graph::TensorId id : step.tensor_of) result.layouts.push_back(lowered.layouts[as_index(id)]);
  std::vector<KernelCache> caches;  // by processor
  for (const int each : threads) caches.emplace_back(engine, each);
  for (graph::OpIndex slot = 0; slot < step.graph.op_count(); ++slot) {
    const graph::OpIndex given = step.op_of[as_index(slot)];
    const std::shared_ptr<Kernel>& kernel = lowered.kernels[as_index(given)];
    const OpRequests& requests = lowered.requests[as_index(given)];
    const graph::OpChoice choice = step.choices.empty() ? graph::OpChoice{} : step.choices[as_index(slot)];
    KernelCache& cache = caches.at(as_index(choice.processor));
    if (step.graph.op(slot).kind != lowered.graph.op(given).kind) {
      result.kernels.push_back(cache.find_or_make(apply_request(lowered.graph, lowered.graph.op(given), *kernel)));
    } else if (choice == graph::OpChoice{}) {
      result.kernels.push_back(kernel);
    } else if (requests.empty()) {
      result.kernels.push_back(cache.find_or_make_reorder(kernel->inputs[0], kernel->outputs[0]));
    } else {
      result.kernels.push_back(cache.find_or_make_like(requests.at(as_index(choice.implementation)), *kernel));
    }
    check_workspace(*result.kernels.back(), step.graph, step.graph.op(slot));
    result.requests.push_back(requests);
  }
  return result;
}

}  // namespace sluice::kernels
