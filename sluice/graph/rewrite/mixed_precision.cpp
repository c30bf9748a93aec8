#include "sluice/graph/rewrite/mixed_precision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

constexpr DType kFull = DType::kF32;

class Converter {
 public:
  Converter(const Graph& graph, DType half) : graph_(graph), half_(half), new_ids_(graph.tensors().size(), -1) {
    mark_logits();
  }

  Graph run() && {
    result_.name = graph_.name;
    result_.layers = graph_.layers;
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (is_persistent(graph_.tensor(id).role)) new_ids_[as_index(id)] = result_.add_tensor(graph_.tensor(id));
    }
    for (const Op& op : graph_.ops()) emit(op);
    return std::move(result_);
  }

 private:
  struct Copy {
    TensorId id = -1;
    bool forward = false;
  };

  // Logits are what losses read, and the same bytes under other shapes.
  void mark_logits() {
    logits_.resize(graph_.tensors().size(), false);
    for (OpIndex index = graph_.op_count() - 1; index >= 0; --index) {
      const Op& op = graph_.op(index);
      if (is_loss(op.kind) || (op.kind == OpKind::kReshape && logits_[as_index(op.outputs[0])]))
        logits_[as_index(op.inputs[0])] = true;
    }
  }

  DType now(TensorId id) const { return result_.tensor(new_ids_[as_index(id)]).dtype; }

  // What the letters of an op's kind (op_traits.hpp) say of this op.
  class Formats {
   public:
    Formats(const Converter& converter, const Op& op)
        : letters_(traits(op.kind).precision),
          op_(op),
          half_(converter.half_),
          first_(op.inputs.empty() ? kFull : converter.now(op.inputs[0])),
          reads_full_(converter.reads_full(op)),
          ends_full_(converter.ends_full(op)),
          product_full_(converter.product_full(op)) {}

    DType input(std::size_t operand) const {
      const auto same = std::find(op_.outputs.begin(), op_.outputs.end(), op_.inputs[operand]);
      if (same != op_.outputs.end()) return output(as_index(same - op_.outputs.begin()));
      return format(letters_.input(operand));
    }
    DType output(std::size_t operand) const { return format(letters_.output(operand)); }

   private:
    DType format(char letter) const {
      switch (letter) {
        case 'h':
          return half_;
        case 'p':
          return product_full_ ? kFull : half_;
        case 'u':
          return reads_full_ || ends_full_ ? kFull : half_;
        case 'i':
          return reads_full_ ? kFull : half_;
        case '=':
          return first_;
        default:  // f
          return kFull;
      }
    }

    const OperandLetters& letters_;
    const Op& op_;
    DType half_;
    DType first_;        // of the first input
    bool reads_full_;    // everything it reads is made as fp32
    bool ends_full_;     // it makes a parameter's gradient or a loss
    bool product_full_;  // its result is logits or a parameter's gradient
  };

  bool product_full(const Op& op) const {
    return logits_[as_index(op.outputs[0])] || graph_.tensor(op.outputs[0]).role == Role::kGradient;
  }

  bool reads_full(const Op& op) const {
    return std::all_of(op.inputs.begin(), op.inputs.end(),
                       [&](TensorId id) { return !is_persistent(graph_.tensor(id).role) && now(id) != half_; });
  }

  bool ends_full(const Op& op) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
      const Role role = graph_.tensor(id).role;
      return role == Role::kGradient || role == Role::kOutput;
    });
  }

  void emit(const Op& original) {
    const Formats formats(*this, original);
    Op op = original;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      op.inputs[i] = in_format(original.inputs[i], formats.input(i), original);
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      op.outputs[i] = made(original.outputs[i], formats.output(i));
      copies_.erase(original.outputs[i]);
    }
    result_.add_op(std::move(op));
  }

  // The tensor in the wanted format: itself, or a copy that is made here unless there is one already.
  TensorId in_format(TensorId id, DType wanted, const Op& reader) {
    const Tensor& source = graph_.tensor(id);
    if (source.dtype != kFull || now(id) == wanted) return new_ids_[as_index(id)];
    // A layer that is sliced with its loss runs forward among backward ops (slice_loss.hpp).
    const bool forward = reader.phase == Phase::kForward || reader.kind == OpKind::kDense;
    Copy& copy = copies_[id];
    if (copy.id >= 0 && (copy.forward == forward || !is_persistent(source.role))) return copy.id;
    const std::string suffix = fmt::format(".{}", to_string(wanted));
    const int earlier = casts_[id]++;
    Tensor tensor;
    tensor.name = source.name + suffix + (earlier == 0 ? "" : fmt::format("_{}", earlier + 1));
    tensor.part = part_beside(source, suffix);
    tensor.shape = source.shape;
    tensor.dtype = wanted;
    tensor.role = source.role == Role::kActivationGradient ? source.role : Role::kActivation;
    copy = {result_.add_tensor(std::move(tensor)), forward};
    const Tensor& made = result_.tensor(copy.id);
    result_.add_op({.name = made.name + ".cast",
                    .kind = OpKind::kCast,
                    .inputs = {new_ids_[as_index(id)]},
                    .outputs = {copy.id},
                    .layer = reader.layer,
                    .phase = reader.phase == Phase::kForward ? Phase::kForward : Phase::kBackward});
    return copy.id;
  }

  TensorId made(TensorId id, DType format) {
    TensorId& made = new_ids_[as_index(id)];
    if (made >= 0) return made;
    Tensor tensor = graph_.tensor(id);
    if (tensor.dtype == kFull && tensor.dtype != format) {
      tensor.dtype = format;
      tensor.bytes = 0;
    }
    return made = result_.add_tensor(std::move(tensor));
  }

  const Graph& graph_;
  DType half_;
  std::vector<bool> logits_;         // by TensorId of graph_
  std::vector<TensorId> new_ids_;    // by TensorId of graph_; -1 before it is made
  std::map<TensorId, Copy> copies_;  // by TensorId of graph_: in the other format, still the same values
  std::map<TensorId, int> casts_;    // by TensorId of graph_
  Graph result_;
};

}  // namespace

Graph to_mixed_precision(const Graph& logical, DType half) { return Converter(logical, half).run(); }

}  // namespace sluice::graph
