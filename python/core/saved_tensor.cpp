#include "python/core/saved_tensor.hpp"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/utils/pybind.h>

#include <cstring>
#include <string>
#include <typeinfo>
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

// Whether the op that saves has just made the tensor: its history is then the newest node of this thread, unless a function
// of the user's made others within.
bool is_output(const at::Tensor& tensor) {
  const torch::autograd::Node* const node = history(tensor);
  if (node == nullptr) return false;
  return node->sequence_nr() + 1 == at::sequence_number::peek() || is_saving(tensor, *node);
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

at::Tensor SavedTensor::unpack() const {
  if (has_lost_history()) {
    throw std::runtime_error(
        "Trying to use a saved tensor that was detached in place (.detach_()) after autograd had saved it");
  }
  const auto version = static_cast<std::uint32_t>(tensor_._version());
  if (version != version_) {
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
