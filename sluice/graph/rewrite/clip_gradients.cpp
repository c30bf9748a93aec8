#include "sluice/graph/rewrite/clip_gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/rewrite/partition_updates.hpp"

namespace sluice::graph {
namespace {

constexpr float kEpsilon = 1e-6F;  // PyTorch's

class Clipping {
 public:
  Clipping(const Graph& training, float norm) : norm_(norm), ranks_(ranks_of(training)), ops_(training.ops()) {
    result_.name = training.name;
    result_.layers = training.layers;
    for (const Tensor& tensor : training.tensors()) result_.add_tensor(tensor);
  }

  Graph run() && {
    for (const Op& op : ops_) {
      if (is_update(op.kind)) {
        put_off(op);
        continue;
      }
      const bool meets = meets_what_waits(op);
      if (meets && op.phase == Phase::kUpdate) {  // what follows an update waits with it
        wait(op);
        continue;
      }
      if (meets) update_all();
      result_.add_op(op);
    }
    update_all();
    return std::move(result_);
  }

 private:
  void put_off(const Op& update) {
    constexpr std::string_view kSum = ".squared_sum";
    const Tensor& gradient = result_.tensor(update.inputs[1]);
    const TensorPart part = part_beside(gradient, kSum);
    const TensorId sum = add_number(gradient.name + std::string(kSum));
    result_.tensor(sum).part = part;
    add_beside(update, {.name = result_.tensor(sum).name, .kind = OpKind::kSquaredSum, .inputs = {update.inputs[1]}},
               sum);
    sums_.push_back(sum);
    wait(update);
  }

  void wait(const Op& op) {
    waiting_.push_back(op);
    used_.insert(op.inputs.begin(), op.inputs.end());
    written_.insert(op.outputs.begin(), op.outputs.end());
  }

  // Reads what an update that waits would have written, or overwrites what it reads.
  bool meets_what_waits(const Op& op) const {
    return std::ranges::any_of(op.inputs, [&](TensorId id) { return written_.contains(id); }) ||
           std::ranges::any_of(op.outputs, [&](TensorId id) { return used_.contains(id); });
  }

  void update_all() {
    if (waiting_.empty()) return;
    const TensorId factor = add_number(fmt::format("clip_factor{}", clips_++ == 0 ? "" : fmt::format("_{}", clips_)));
    Op clip{.name = result_.tensor(factor).name, .kind = OpKind::kClipFactor, .inputs = std::exchange(sums_, {})};
    clip.attributes = ClipAttributes{.norm = norm_, .epsilon = kEpsilon, .ranks = ranks_ > 1 ? ranks_ : 0};
    add_beside(waiting_.back(), std::move(clip), factor);
    for (Op& op : waiting_) {
      if (is_update(op.kind)) {
        const auto behind_moments = op.inputs.begin() + 2 + static_cast<std::ptrdiff_t>(moments_of(op.kind));
        op.inputs.insert(behind_moments, factor);
      }
      result_.add_op(std::move(op));
    }
    waiting_.clear();
    used_.clear();
    written_.clear();
  }

  TensorId add_number(std::string name) {
    return result_.add_tensor({.name = std::move(name), .shape = {1}, .role = Role::kActivationGradient});
  }

  void add_beside(const Op& update, Op op, TensorId output) {
    op.outputs = {output};
    op.layer = update.layer;
    op.phase = update.phase;
    result_.add_op(std::move(op));
  }

  float norm_;
  std::int64_t ranks_;
  const std::vector<Op>& ops_;
  Graph result_;
  std::vector<Op> waiting_;            // updates, and what follows them
  std::vector<TensorId> sums_;         // of their gradients
  std::set<TensorId> used_, written_;  // by them
  int clips_ = 0;
};

}  // namespace

Graph clip_gradients(const Graph& training, float norm) { return Clipping(training, norm).run(); }

}  // namespace sluice::graph
