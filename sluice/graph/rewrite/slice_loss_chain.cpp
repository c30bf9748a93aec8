#include "sluice/graph/rewrite/slice_loss_chain.hpp"

#include <algorithm>
#include <span>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

bool is_whole(const Op& op) {
  return op.slice.end == 0 && !op.slice.partial && fused_activation(op.attributes) == Activation::kNone;
}

bool is_kept(Role role) { return is_persistent(role) || role == Role::kOutput; }

// Whether a chain's op may as well stand on the other side of `other`. The layer's input where it was made again
// (rematerialize.hpp) does not count: the layer's own is there.
bool may_swap(const Op& part, const Op& other) {
  const std::span<const TensorId> read =
      std::span(part.inputs).subspan(part.kind == OpKind::kDenseBackwardWeights ? 1 : 0);
  return !meet(read, other.outputs) && !meet(part.outputs, other.inputs) && !meet(part.outputs, other.outputs);
}

}  // namespace

std::vector<OpIndex> LossChainFinder::readers(TensorId id) const {
  std::vector<OpIndex> readers;
  for (const Use& use : uses_[as_index(id)]) {
    if (use.reads) readers.push_back(use.op);
  }
  return readers;
}

std::optional<OpIndex> LossChainFinder::only_writer(TensorId id) const {
  std::optional<OpIndex> writer;
  for (const Use& use : uses_[as_index(id)]) {
    if (!use.writes) continue;
    if (writer) return std::nullopt;
    writer = use.op;
  }
  return writer;
}

std::optional<LossChain> LossChainFinder::find(OpIndex loss) const {
  LossChain chain;
  chain.loss = loss;
  if (!is_whole(graph_.op(loss)) || !add_forward(chain) || !add_backward(chain) || !independent(chain)) {
    return std::nullopt;
  }
  return chain;
}

// From the loss up to the layer.
bool LossChainFinder::add_forward(LossChain& chain) const {
  const std::int64_t classes = graph_.tensor(graph_.op(chain.loss).inputs[0]).shape.back();
  chain.ops = {chain.loss};
  for (;;) {
    const TensorId id = graph_.op(chain.ops.back()).inputs[0];
    const std::optional<OpIndex> maker = only_writer(id);
    if (!maker || is_kept(graph_.tensor(id).role) || readers(id) != std::vector{chain.ops.back()}) return false;
    chain.ops.push_back(*maker);
    const Op& op = graph_.op(*maker);
    if (op.kind == OpKind::kReshape) continue;
    chain.dense = *maker;
    return op.kind == OpKind::kDense && is_whole(op) && graph_.tensor(id).shape.back() == classes &&
           !is_persistent(graph_.tensor(op.inputs[0]).role);
  }
}

bool LossChainFinder::add_backward(LossChain& chain) const {
  const TensorId probabilities = graph_.op(chain.loss).outputs[1];
  if (is_kept(graph_.tensor(probabilities).role)) return false;
  std::vector<OpIndex> next = readers(probabilities);
  if (next.empty()) return true;
  if (next.size() > 1 || graph_.op(next[0]).kind != OpKind::kSoftmaxCrossEntropyBackward) return false;
  chain.backward = next[0];
  chain.ops.push_back(next[0]);
  TensorId dy = graph_.op(next[0]).outputs[0];
  for (next = readers(dy); next.size() == 1 && graph_.op(next[0]).kind == OpKind::kReshape; next = readers(dy)) {
    chain.ops.push_back(next[0]);
    dy = graph_.op(next[0]).outputs[0];
  }
  chain.products = next;
  chain.ops.insert(chain.ops.end(), next.begin(), next.end());
  return !next.empty() && std::all_of(next.begin(), next.end(), [&](OpIndex index) {
    return belongs(graph_.op(index), dy, graph_.op(chain.dense));
  });
}

bool LossChainFinder::belongs(const Op& product, TensorId dy, const Op& dense) const {
  if (!is_whole(product)) return false;
  if (product.kind == OpKind::kDenseBackwardData)
    return product.inputs[0] == dy && product.inputs[1] == dense.inputs[1];
  return product.kind == OpKind::kDenseBackwardWeights && product.inputs[1] == dy &&
         same_value(product.inputs[0], dense.inputs[0]);
}

// One tensor, or made by the same op from the same values (rematerialize.hpp).
bool LossChainFinder::same_value(TensorId a, TensorId b) const {
  if (a == b) return true;
  const std::optional<OpIndex> maker_a = only_writer(a);
  const std::optional<OpIndex> maker_b = only_writer(b);
  if (!maker_a || !maker_b) return false;
  const Op& op_a = graph_.op(*maker_a);
  const Op& op_b = graph_.op(*maker_b);
  return op_a.kind == op_b.kind && op_a.attributes == op_b.attributes && op_a.slice == op_b.slice &&
         op_a.outputs[0] == a && op_b.outputs[0] == b &&
         std::equal(op_a.inputs.begin(), op_a.inputs.end(), op_b.inputs.begin(), op_b.inputs.end(),
                    [&](TensorId x, TensorId y) { return same_value(x, y); });
}

bool LossChainFinder::independent(const LossChain& chain) const {
  return std::all_of(chain.ops.begin(), chain.ops.end(), [&](OpIndex part) {
    const OpIndex middle = chain.middle();
    for (OpIndex index = std::min(part, middle); index < std::max(part, middle); ++index) {
      const bool within = std::count(chain.ops.begin(), chain.ops.end(), index) > 0;
      if (!within && !may_swap(graph_.op(part), graph_.op(index))) return false;
    }
    return true;
  });
}

void LossChainFinder::add_needless(std::vector<bool>& replaced) const {
  for (OpIndex index = graph_.op_count() - 1; index >= 0; --index) {
    const Op& op = graph_.op(index);
    if (op.phase != Phase::kBackward) continue;
    bool read = false;
    bool wanted = false;
    for (const TensorId id : op.outputs) {
      wanted = wanted || is_kept(graph_.tensor(id).role);
      for (const OpIndex reader : readers(id)) {
        read = true;
        wanted = wanted || !replaced[as_index(reader)];
      }
    }
    if (read && !wanted) replaced[as_index(index)] = true;
  }
}

}  // namespace sluice::graph
