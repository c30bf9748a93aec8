// A descriptor of cuDNN's graph interface: made, given attributes, finished, and destroyed with its owner.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sluice/kernels/cuda/context.hpp"

namespace sluice::kernels::cuda {

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check(cudnnBackendCreateDescriptor(type, &descriptor_), "making a cuDNN descriptor");
  }
  ~Descriptor() {
    if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
    check(cudnnBackendSetAttribute(descriptor_, name, type, count, values), "describing to cuDNN");
  }
  template <typename Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.descriptor_);
  }

  // Whether cuDNN can do what has been described.
  bool try_finish() { return cudnnBackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS; }
  void finish() { check(cudnnBackendFinalize(descriptor_), "cuDNN does not accept a description"); }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace sluice::kernels::cuda
