// The backend that is slow and plain: the oracle in tests.
#pragma once

#include <memory>

#include "sluice/kernels/backend.hpp"

namespace sluice::kernels {

std::unique_ptr<Backend> make_reference_backend();

}  // namespace sluice::kernels
