// Where the headers of PyTorch 1.13 and 2 differ.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <torch/csrc/api/include/torch/version.h>

#include <cstddef>
#include <string>

namespace sluice::python {

// An allocator by serve(), on whose memory nothing hangs but its deleter.
class PlainAllocator : public c10::Allocator {
 public:
#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(std::size_t bytes) override { return serve(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
#else
  c10::DataPtr allocate(std::size_t bytes) const override { return serve(bytes); }
#endif

 protected:
  virtual c10::DataPtr serve(std::size_t bytes) const = 0;
};

// PyTorch's warnings of this thread are dropped while it lives.
class WarningsDropped {
 private:
  class Dropping final : public c10::WarningHandler {
   public:
#if TORCH_VERSION_MAJOR >= 2
    void process(const c10::Warning&) override {}
#else
    void process(const c10::SourceLocation&, const std::string&, bool) override {}
#endif
  };
#if TORCH_VERSION_MAJOR >= 2
  using Guard = c10::WarningUtils::WarningHandlerGuard;
#else
  using Guard = c10::Warning::WarningHandlerGuard;
#endif
  Dropping dropping_;
  Guard guard_{&dropping_};
};

}  // namespace sluice::python
