// What a build without CUDA answers.
#pragma once

#include "sluice/base/result.hpp"

namespace sluice::gpu {

inline Error no_cuda() {
  return {ErrorCode::kUnsupported,
          "this build has no CUDA: configure it where the CUDA toolkit, cuDNN and cuBLAS are installed "
          "(-D SLUICE_CUDA=ON says what is missing), or leave out --gpu"};
}

}  // namespace sluice::gpu
