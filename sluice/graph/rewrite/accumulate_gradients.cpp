#include "sluice/graph/rewrite/accumulate_gradients.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/base/random.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/graph/rewrite/partition_updates.hpp"

namespace sluice::graph {
namespace {

class Accumulation {
 public:
  Accumulation(const Graph& training, int batches)
      : training_(training), batches_(batches), ranks_(ranks_of(training)), sums_(training.tensors().size(), kNone) {
    result_.name = training.name;
    result_.layers = training.layers;
    for (const Tensor& tensor : training.tensors()) result_.add_tensor(tensor);
  }

  Graph run() && {
    for (int batch = 0; batch < batches_; ++batch) {
      begin(batch);
      for (const Op& op : training_.ops()) {
        if (is_update(op.kind)) {
          add_update(op);
        } else if (op.phase != Phase::kUpdate || batch + 1 == batches_) {  // else of parts: once a step
          add_op(op);
        }
      }
    }
    return std::move(result_);
  }

 private:
  static constexpr TensorId kNone = -1;

  // What persists is every batch's.
  void begin(int batch) {
    batch_ = batch;
    ids_.clear();
    for (TensorId id = 0; id < training_.tensor_count(); ++id) {
      Tensor tensor = training_.tensor(id);
      if (batch == 0 || is_persistent(tensor.role)) {
        ids_.push_back(id);
      } else {
        tensor.name = of_batch(tensor.name);
        if (!tensor.part.whole.empty()) tensor.part.whole = of_batch(tensor.part.whole);
        ids_.push_back(result_.add_tensor(std::move(tensor)));
      }
    }
  }

  std::string of_batch(const std::string& name) const {
    return batch_ == 0 ? name : fmt::format("batch{}/{}", batch_ + 1, name);
  }

  TensorId id_of(TensorId id) const { return ids_[as_index(id)]; }

  void add_op(Op op) {
    op.name = of_batch(op.name);
    for (TensorId& id : op.inputs) id = id_of(id);
    for (TensorId& id : op.outputs) id = id_of(id);
    // Between this batch and the one before, every other rank has one.
    if (op.kind == OpKind::kDropout)
      op.as<DropoutAttributes>().stream += static_cast<std::uint64_t>(batch_ * ranks_) * kStreamsApart;
    if (op.kind == OpKind::kInput) op.attributes = InputAttributes{.batch = batch_, .batches = batches_};
    result_.add_op(std::move(op));
  }

  void add_update(Op update) {
    const TensorId sum = accumulate(update);
    if (batch_ + 1 < batches_) return;
    for (TensorId& id : update.inputs) id = id_of(id);
    for (TensorId& id : update.outputs) id = id_of(id);
    update.inputs[1] = sum;
    result_.add_op(std::move(update));
  }

  TensorId accumulate(const Op& update) {
    const TensorId gradient = update.inputs[1];
    TensorId& sum = sums_[as_index(gradient)];
    Op op{.name = of_batch(update.name + ".accumulate"), .kind = OpKind::kAccumulateGradient};
    op.layer = update.layer;
    op.phase = update.phase;
    op.attributes = FactorAttributes{1.0F / static_cast<float>(batches_)};
    op.inputs = {id_of(gradient)};
    if (sum == kNone) {
      sum = add_sum(training_.tensor(gradient));
    } else {
      op.inputs.push_back(sum);
    }
    op.outputs = {sum};
    result_.add_op(std::move(op));
    return sum;
  }

  TensorId add_sum(const Tensor& gradient) {
    Tensor sum;
    name_beside(sum, whole_name(gradient) + ".sum", gradient);
    sum.shape = gradient.shape;
    sum.role = Role::kGradient;
    sum.whole = gradient.whole;
    return result_.add_tensor(std::move(sum));
  }

  const Graph& training_;
  int batches_;
  std::int64_t ranks_;
  Graph result_;
  std::vector<TensorId> sums_;  // by gradient of `training_`
  int batch_ = 0;
  std::vector<TensorId> ids_;  // by TensorId of `training_`: in this batch
};

}  // namespace

Graph accumulate_gradients(const Graph& training, int batches) {
  SLUICE_CHECK(batches > 1, "one batch has nothing to add up");
  SLUICE_CHECK(updates_may_run_last(training), training.name + " reads parameters again that its step has updated");
  return Accumulation(training, batches).run();
}

}  // namespace sluice::graph
