#include "python/core/saved_tensor.hpp"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/utils/pybind.h>

#include <cstring>
#include <string>
#include <typeinfo>
#include <unordered_set>
#include <utility>

#include "python/core/saved_storage.hpp"

namespace sluice::python {
namespace {

// The node whose result the tensor is, as it stands: asking the tensor would make one anew for some views.
const torch::autograd::Node* history(const at::Tensor& tensor) {
  const torch::autograd::AutogradMeta* const meta = torch::autograd::impl::get_autograd_meta(tensor);
  return meta == nullptr ? nullptr : meta->grad_fn_.get();
}

// A function of the user's, in Python: it keeps what it is to save until it has saved all of it.
bool is_saving(const at::Tensor& tensor, const torch::autograd::Node& node) {
  if (std::strcmp(typeid(node).name(), "N5torch8autograd6PyNodeE") != 0) return false;
  return !pybind11::cast(tensor).attr("grad_fn").attr("to_save").is_none();
}

using Nodes = std::unordered_set<const torch::autograd::Node*>;

// The nodes that `node` leads to and that are newer: histories that PyTorch wrote anew while it made the node, of views whose
// base had changed.
void add_newer(const torch::autograd::Node& node, std::uint64_t than, Nodes& found) {
  for (const torch::autograd::Edge& edge : node.next_edges()) {
    const torch::autograd::Node* const next = edge.function.get();
    const bool newer =
        next != nullptr && next->sequence_nr() > than && next->sequence_nr() < at::sequence_number::peek();
    if (newer && found.insert(next).second) add_newer(*next, than, found);
  }
}

// Whether the op that saves has just made the tensor: its history is then the newest of this thread, but for histories of its
// inputs that were written anew, unless a function of the user's made others within.
bool is_output(const at::Tensor& tensor) {
  const torch::autograd::Node* const node = history(tensor);
  if (node == nullptr) return false;
  Nodes newer;
  add_newer(*node, node->sequence_nr(), newer);
  return node->sequence_nr() + 1 + newer.size() == at::sequence_number::peek() || is_saving(tensor, *node);
}

}  // namespace

SavedTensor::SavedTensor(const at::Tensor& tensor, std::shared_ptr<SavedStorage> storage)
    : storage_(std::move(storage)),
      version_(static_cast<std::uint32_t>(tensor._version())),
      leaf_(tensor.is_leaf()),
      original_(!is_output(tensor)) {
  tensor_ = original_ ? tensor : tensor.tensor_data();
}

SavedTensor::~SavedTensor() {
  tensor_.reset();
  if (storage_ != nullptr) storage_->remove(*this);
}

bool SavedTensor::has_lost_history() const { return original_ ? !leaf_ && history(tensor_) == nullptr : lost_history_; }

// A function of the user's would get what the tensor has become; but a hook cannot keep PyTorch from giving it its history back.
void SavedTensor::refuse_lost_history(const std::function<bool()>& by_function) const {
  if (!by_function()) {
    throw std::runtime_error(
        "Trying to use a saved tensor that was detached in place (.detach_()) after autograd had saved it");
  }
  if (at::GradMode::is_enabled()) {
    throw std::runtime_error(
        "sluice.offload: gradients of gradients are not known for a tensor that was detached in place (.detach_()) after "
        "a torch.autograd.Function had saved it; detach a copy of it (.detach())");
  }
}

at::Tensor SavedTensor::unpack(const std::function<bool()>& by_function) const {
  if (has_lost_history()) refuse_lost_history(by_function);
  const auto version = static_cast<std::uint32_t>(tensor_._version());
  if (version != version_) {
    if (original_) (void)tensor_.grad_fn();  // as PyTorch does, which may be an error of its own
    throw std::runtime_error(
        "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor was "
        "changed in place after autograd had saved it (it is at version " +
        std::to_string(version) + ", and was saved at version " + std::to_string(version_) + ")");
  }
  return original_ ? tensor_ : tensor_.tensor_data();
}

// Nobody else knows the tensor any more: what it is now it stays, and its history and the tensor that it is a view of may go.
// Returns the tensor that was.
at::Tensor SavedTensor::settle() {
  lost_history_ = has_lost_history();
  original_ = false;
  return std::exchange(tensor_, tensor_.tensor_data());
}

}  // namespace sluice::python
