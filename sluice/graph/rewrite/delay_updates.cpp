#include "sluice/graph/rewrite/delay_updates.hpp"

#include <utility>
#include <vector>

#include "sluice/base/check.hpp"
#include "sluice/graph/op_traits.hpp"
#include "sluice/graph/reschedule.hpp"

namespace sluice {
namespace {

constexpr std::string_view kDelayed = ".delayed", kFilled = "gradients.filled";

// "w[0:64]" of "w.moment1[0:64]": gradients go by many names, of parts and of sums.
std::string parameter_of_moment(const std::string& moment) {
  const std::size_t slice = moment.ends_with(']') ? moment.rfind('[') : moment.size();
  return moment.substr(0, moment.rfind('.', slice)) + moment.substr(slice);
}

TensorId add_delayed(Graph& graph, const Tensor& gradient, const Tensor& moment) {
  Tensor delayed = gradient;
  delayed.name = with_suffix(with_suffix(parameter_of_moment(moment.name), ".gradient"), kDelayed);
  delayed.role = Role::kOptimizerState;
  delayed.init = {};
  return graph.add_tensor(std::move(delayed));
}

}  // namespace

Graph delay_updates(const Graph& training) {
  SLUICE_CHECK(updates_may_run_last(training), training.name + " reads parameters again that its step has updated");
  Graph result;
  result.name = training.name;
  result.layers = training.layers;
  for (const Tensor& tensor : training.tensors()) result.add_tensor(tensor);
  const TensorId filled =
      result.add_tensor({.name = std::string(kFilled), .shape = {1}, .role = Role::kOptimizerState});
  std::vector<Op> delays;
  for (Op op : training.ops()) {
    if (is_update(op.kind)) {
      const TensorId gradient = op.inputs[1];
      op.inputs[1] = add_delayed(result, training.tensor(gradient), training.tensor(op.inputs[2]));
      op.inputs.push_back(filled);
      op.attributes.delayed = true;
      delays.push_back({.name = op.name + ".delay",
                        .kind = OpKind::kDelayGradient,
                        .inputs = {gradient},
                        .outputs = {op.inputs[1]},
                        .layer = op.layer,
                        .phase = op.phase});
    }
    result.add_op(std::move(op));
  }
  if (!delays.empty()) delays.back().outputs.push_back(filled);
  for (Op& delay : delays) result.add_op(std::move(delay));
  return result;
}

bool is_in_flight(const Tensor& tensor) {
  const std::string whole = tensor.name.substr(0, tensor.name.find('['));
  return tensor.role == Role::kOptimizerState && (whole.ends_with(kDelayed) || whole == kFilled);
}

}  // namespace sluice
