// Which of PyTorch's memory is the pool's (torch_memory.cpp).
#pragma once

#include <ATen/core/Tensor.h>

namespace sluice::python {

bool is_of_pool(const at::DataPtr& data);  // all of it: what the pool gave, from its beginning on

}  // namespace sluice::python
