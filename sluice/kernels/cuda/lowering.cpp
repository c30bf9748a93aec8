#include "sluice/kernels/cuda/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/graph/footprint.hpp"
#include "sluice/graph/in_place.hpp"

namespace sluice::kernels::cuda {
namespace {

constexpr graph::TensorId kNotOnDevice = -1;

Bytes padded(Bytes workspace) { return workspace == 0 ? 0 : workspace + kWorkspaceAlignment; }

class Lowering {
 public:
  Lowering(const Context& context, const graph::Graph& logical)
      : context_(context), logical_(logical), homes_(logical.tensors().size(), kNotOnDevice) {
    // An op and its scratch should leave room for transfers beside them at a budget of a fifth of the peak.
    constexpr Bytes kShare = 16;
    scratch_ = graph::measure_footprint(logical).peak / kShare;
    result_.graph.name = logical.name;
    result_.graph.layers = logical.layers;
  }

  LoweredGraph run() && {
    for (const graph::Op& op : logical_.ops()) {
      if (op.kind == graph::OpKind::kReshape) {
        lower_reshape(op);
      } else {
        lower_op(op);
      }
    }
    graph::set_in_place_candidates(result_.graph);
    graph::merge_in_place(result_.graph);
    return std::move(result_);
  }

 private:
  graph::TensorId storage_of(graph::TensorId logical) {
    graph::TensorId& home = homes_[as_index(logical)];
    if (home == kNotOnDevice) home = result_.graph.add_tensor(with_bytes(logical_.tensor(logical)));
    return home;
  }

  static graph::Tensor with_bytes(graph::Tensor tensor) {
    tensor.bytes = graph::element_count(tensor.shape) * size_of(tensor.dtype);
    return tensor;
  }

  void lower_reshape(const graph::Op& op) {
    const graph::Tensor& y = logical_.tensor(op.outputs[0]);
    const graph::TensorId storage = storage_of(op.inputs[0]);
    homes_[as_index(op.outputs[0])] = storage;
    if (y.role == graph::Role::kGradient || y.role == graph::Role::kOutput) result_.graph.tensor(storage).role = y.role;
  }

  void lower_op(const graph::Op& op) {
    OpRequest request{
        .op = op, .inputs = {}, .outputs = {}, .input_types = {}, .output_types = {}, .scratch = scratch_};
    graph::Op lowered = op;
    const auto place = [&](std::vector<graph::TensorId>& ids, std::vector<graph::Shape>& shapes,
                           std::vector<graph::DType>& types) {
      for (graph::TensorId& id : ids) {
        shapes.push_back(logical_.tensor(id).shape);
        types.push_back(logical_.tensor(id).dtype);
        id = storage_of(id);
      }
    };
    place(lowered.inputs, request.inputs, request.input_types);
    place(lowered.outputs, request.outputs, request.output_types);
    lowered.views = views_of(lowered, request);
    LoweredOp prepared{std::move(request), {}};
    if (op.kind != graph::OpKind::kInput) prepared.ways = prepare_op(context_, prepared.request);
    add(std::move(lowered), std::move(prepared));
  }

  // "0:[8, 16]" for operand 0 seen in that shape, where its storage was made in another.
  std::string views_of(const graph::Op& lowered, const OpRequest& request) const {
    std::string views;
    const auto note = [&](std::size_t operand, const graph::Shape& seen, graph::TensorId storage) {
      if (seen == result_.graph.tensor(storage).shape) return;
      views += fmt::format("{}{}:{}", views.empty() ? "" : " ", operand, graph::to_string(seen));
    };
    for (std::size_t i = 0; i < lowered.inputs.size(); ++i) note(i, request.inputs[i], lowered.inputs[i]);
    for (std::size_t i = 0; i < lowered.outputs.size(); ++i)
      note(lowered.inputs.size() + i, request.outputs[i], lowered.outputs[i]);
    return views;
  }

  void add(graph::Op op, LoweredOp prepared) {
    op.implementations.clear();
    for (const auto& way : prepared.ways)
      op.implementations.push_back({way->implementation, padded(way->workspace_bytes)});
    if (op.implementations.empty()) op.implementations.push_back({"copy", 0});
    Bytes workspace = op.implementations.front().workspace_bytes;
    if (op.implementations.size() > 1) workspace = std::max(workspace, graph::kLeastWorkspace);
    if (workspace > 0) {
      const graph::Tensor scratch{.name = op.name + ".workspace",
                                  .shape = {workspace},
                                  .dtype = graph::DType::kU8,
                                  .role = graph::Role::kWorkspace};
      op.outputs.push_back(result_.graph.add_tensor(with_bytes(scratch)));
    }
    result_.graph.add_op(std::move(op));
    result_.ops.push_back(std::move(prepared));
  }

  const Context& context_;
  const graph::Graph& logical_;
  std::vector<graph::TensorId> homes_;  // by logical id
  Bytes scratch_ = 0;
  LoweredGraph result_;
};

// The part of a batch norm that runs again: from the statistics of its first run.
LoweredOp apply_again(const Context& context, const LoweredOp& norm, const graph::Op& apply) {
  const OpRequest& whole = norm.request;
  OpRequest request{.op = apply,
                    .inputs = {whole.inputs[0], whole.inputs[1], whole.outputs[1]},
                    .outputs = {whole.outputs[0]},
                    .input_types = {whole.input_types[0], whole.input_types[1], whole.output_types[1]},
                    .output_types = {whole.output_types[0]},
                    .scratch = whole.scratch};
  if (whole.inputs.size() > 3) {
    request.inputs.push_back(whole.inputs[3]);
    request.input_types.push_back(whole.input_types[3]);
  }
  Ways ways = prepare_op(context, request);
  return {std::move(request), std::move(ways)};
}

}  // namespace

LoweredGraph lower(const Context& context, const graph::Graph& logical) { return Lowering(context, logical).run(); }

LoweredGraph reschedule(const Context& context, const LoweredGraph& lowered, const graph::Rescheduled& step) {
  LoweredGraph result{step.graph, {}};
  for (graph::OpIndex slot = 0; slot < step.graph.op_count(); ++slot) {
    const LoweredOp& given = lowered.ops[as_index(step.op_of[as_index(slot)])];
    const graph::Op& op = step.graph.op(slot);
    if (op.kind != given.request.op.kind) {
      result.ops.push_back(apply_again(context, given, op));
      continue;
    }
    result.ops.push_back(given);
    if (!step.choices.empty()) result.ops.back().way = as_index(step.choices[as_index(slot)].implementation);
  }
  return result;
}

}  // namespace sluice::kernels::cuda
