#include "sluice/graph/rewrite/mixed_precision.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace sluice {
namespace {

constexpr DType kFull = DType::kF32;
constexpr DType kHalf = DType::kBF16;

// What an op wants and makes, where its operands are floating-point; inputs beyond the list are like its last entry.
struct Formats {
  std::vector<DType> inputs;
  std::vector<DType> outputs;
};

const DType& at(const std::vector<DType>& formats, std::size_t operand) {
  return formats[std::min(operand, formats.size() - 1)];
}

class Converter {
 public:
  explicit Converter(const Graph& graph) : graph_(graph), new_ids_(graph.tensors().size(), -1) { mark_logits(); }

  Graph run() && {
    result_.name = graph_.name;
    result_.layers = graph_.layers;
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (is_persistent(graph_.tensor(id).role)) new_ids_[slot(id)] = result_.add_tensor(graph_.tensor(id));
    }
    for (const Op& op : graph_.ops()) emit(op);
    return std::move(result_);
  }

 private:
  struct Copy {
    TensorId id = -1;
    bool forward = false;
  };

  static std::size_t slot(TensorId id) { return static_cast<std::size_t>(id); }

  // Logits are what losses read, and the same bytes under other shapes.
  void mark_logits() {
    logits_.resize(graph_.tensors().size(), false);
    for (OpIndex index = graph_.op_count() - 1; index >= 0; --index) {
      const Op& op = graph_.op(index);
      const bool loss = op.kind == OpKind::kSoftmaxCrossEntropy || op.kind == OpKind::kSigmoidCrossEntropy;
      if (loss || (op.kind == OpKind::kReshape && logits_[slot(op.outputs[0])])) logits_[slot(op.inputs[0])] = true;
    }
  }

  DType now(TensorId id) const { return result_.tensor(new_ids_[slot(id)]).dtype; }

  DType product_format(const Op& op) const {
    const bool full = logits_[slot(op.outputs[0])] || graph_.tensor(op.outputs[0]).role == Role::kGradient;
    return full ? kFull : kHalf;
  }

  Formats formats(const Op& op) const {
    switch (op.kind) {
      case OpKind::kConv2d:
      case OpKind::kConvTranspose2d:
        return {{kHalf, kHalf, kFull}, {kHalf}};
      case OpKind::kConv2dBackwardWeights:
      case OpKind::kConvTranspose2dBackwardWeights:
      case OpKind::kDenseBackwardWeights:
        return {{kHalf, kHalf, kFull}, {kFull}};
      case OpKind::kConv2dBackwardData:
      case OpKind::kConvTranspose2dBackwardData:
      case OpKind::kDenseBackwardData:
        return {{kHalf}, {kHalf}};
      case OpKind::kBatchNorm:
      case OpKind::kBatchNormApply:
        return {{kHalf, kFull, kFull, kHalf}, {kHalf, kFull}};
      case OpKind::kLayerNorm:
        return {{kHalf, kFull}, {kHalf, kFull}};
      case OpKind::kBatchNormBackward:
      case OpKind::kBatchNormBackwardApply:
      case OpKind::kLayerNormBackward:
        return {{kHalf, kHalf, kFull}, {kHalf, kFull}};
      case OpKind::kBatchNormStatistics:
      case OpKind::kBatchNormBackwardSums:
        return {{kHalf, kHalf, kFull}, {kFull}};
      default:
        return formats_of_others(op);
    }
  }

  Formats formats_of_others(const Op& op) const {
    switch (op.kind) {
      case OpKind::kDense:
        return dense_formats(op);
      case OpKind::kMatMul:
        return {{kHalf}, {product_format(op)}};
      case OpKind::kEmbedding:
        return {{kFull, kFull, kHalf}, {kHalf}};
      case OpKind::kEmbeddingBackward:
        return {{kFull, kHalf, kFull}, {kFull}};
      case OpKind::kLstmCell:
        return {{kHalf, kHalf, kFull, kHalf}, {kHalf, kFull, kHalf}};
      case OpKind::kLstmCellBackward:
        return cell_backward_formats(op);
      case OpKind::kBatchNormMerge:
      case OpKind::kSoftmaxCrossEntropy:
      case OpKind::kSigmoidCrossEntropy:
      case OpKind::kSgdUpdate:
      case OpKind::kAdamUpdate:
      case OpKind::kInput:
        return {{kFull}, {kFull}};
      case OpKind::kSoftmaxCrossEntropyBackward:
      case OpKind::kSigmoidCrossEntropyBackward:
        return {{kFull}, {kHalf}};
      case OpKind::kSliceBatch:
      case OpKind::kPlaceBatch:
        return {{now(op.inputs[0])}, {now(op.inputs[0])}};
      case OpKind::kCast:
        return {{now(op.inputs[0])}, {kFull}};
      default:
        return uniform_formats(op);
    }
  }

  Formats dense_formats(const Op& op) const {
    const DType y = product_format(op);
    Formats formats{{kHalf, kHalf}, {y}};
    const std::size_t bias_end = op.inputs.size() - (op.attributes.partial ? 1 : 0);
    if (bias_end == 3) formats.inputs.push_back(kFull);
    if (op.attributes.partial) formats.inputs.push_back(y);
    return formats;
  }

  static Formats cell_backward_formats(const Op& op) {
    Formats formats{{kHalf, kHalf, kFull}, {kHalf, kHalf, kFull}};
    if (op.attributes.state) formats.inputs.insert(formats.inputs.end(), {kFull, kHalf});
    if (op.attributes.carry) formats.inputs.push_back(kFull);
    return formats;
  }

  // Ops that compute in one format. Only a sum may end in another: that of a parameter's gradient.
  Formats uniform_formats(const Op& op) const {
    const bool made_full = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      return !is_persistent(graph_.tensor(id).role) && now(id) != kHalf;
    });
    if (made_full) return {{kFull}, {kFull}};
    const bool ends_full = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
      const Role role = graph_.tensor(id).role;
      return role == Role::kGradient || role == Role::kOutput;
    });
    if (op.kind == OpKind::kReduce) return {{kHalf}, {ends_full ? kFull : kHalf}};
    return ends_full ? Formats{{kFull}, {kFull}} : Formats{{kHalf}, {kHalf}};
  }

  void emit(const Op& original) {
    const Formats formats = this->formats(original);
    Op op = original;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      op.inputs[i] = in_format(original.inputs[i], at(formats.inputs, i), original);
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      op.outputs[i] = made(original.outputs[i], at(formats.outputs, i));
      copies_.erase(original.outputs[i]);
    }
    result_.add_op(std::move(op));
  }

  // The tensor in the wanted format: itself, or a copy that is made here unless there is one already.
  TensorId in_format(TensorId id, DType wanted, const Op& reader) {
    const Tensor& source = graph_.tensor(id);
    if (source.dtype != kFull || now(id) == wanted) return new_ids_[slot(id)];
    // A layer that is sliced with its loss runs forward among backward ops (slice_loss.hpp).
    const bool forward = reader.phase == Phase::kForward || reader.kind == OpKind::kDense;
    Copy& copy = copies_[id];
    if (copy.id >= 0 && (copy.forward == forward || !is_persistent(source.role))) return copy.id;
    const std::string suffix = wanted == kHalf ? ".bf16" : ".f32";
    const int earlier = casts_[id]++;
    Tensor tensor;
    tensor.name = source.name + suffix + (earlier == 0 ? "" : "_" + std::to_string(earlier + 1));
    tensor.shape = source.shape;
    tensor.dtype = wanted;
    tensor.role = source.role == Role::kActivationGradient ? source.role : Role::kActivation;
    copy = {result_.add_tensor(std::move(tensor)), forward};
    const Tensor& made = result_.tensor(copy.id);
    result_.add_op({.name = made.name + ".cast",
                    .kind = OpKind::kCast,
                    .inputs = {new_ids_[slot(id)]},
                    .outputs = {copy.id},
                    .layer = reader.layer,
                    .phase = reader.phase == Phase::kForward ? Phase::kForward : Phase::kBackward});
    return copy.id;
  }

  TensorId made(TensorId id, DType format) {
    TensorId& made = new_ids_[slot(id)];
    if (made >= 0) return made;
    Tensor tensor = graph_.tensor(id);
    if (tensor.dtype == kFull && tensor.dtype != format) {
      tensor.dtype = format;
      tensor.bytes = 0;
    }
    return made = result_.add_tensor(std::move(tensor));
  }

  const Graph& graph_;
  std::vector<bool> logits_;         // by TensorId of graph_
  std::vector<TensorId> new_ids_;    // by TensorId of graph_; -1 before it is made
  std::map<TensorId, Copy> copies_;  // by TensorId of graph_: in the other format, still the same values
  std::map<TensorId, int> casts_;    // by TensorId of graph_
  Graph result_;
};

}  // namespace

Graph to_mixed_precision(const Graph& logical) { return Converter(logical).run(); }

}  // namespace sluice
