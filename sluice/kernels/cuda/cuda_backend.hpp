// The backend of an NVIDIA GPU. In builds without CUDA it compiles nothing, and says what is missing.
#pragma once

#include <memory>

#include "sluice/kernels/backend.hpp"

namespace sluice::kernels {

std::unique_ptr<Backend> make_cuda_backend();

}  // namespace sluice::kernels
