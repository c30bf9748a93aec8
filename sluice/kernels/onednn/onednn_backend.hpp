// The backend of the host's processor: oneDNN's primitives and vector loops of our own.
#pragma once

#include <memory>

#include "sluice/kernels/backend.hpp"

namespace sluice::kernels {

std::unique_ptr<Backend> make_onednn_backend();

// Drops what is remembered of kernels that no compiled graph uses any more: those tried while lowering.
void forget_unused_kernels();

}  // namespace sluice::kernels
