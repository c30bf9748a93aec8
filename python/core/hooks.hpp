// Hooks that PyTorch calls, which are Python's: what interrupts the program while one runs (Ctrl-C, sys.exit() of a signal's
// handler) has to come out as what it is, and PyTorch would make a RuntimeError of it. So the hook's work is done without
// its Python, and the interruption is raised as soon as the program's own code goes on.
#pragma once

#include <pybind11/pybind11.h>

namespace sluice::python {

// `pack(hook)` and `unpack(hook)`: hooks for saved tensors.
void bind_hooks(pybind11::module_& module);

}  // namespace sluice::python
