// Tensors that Python has put into a file (sluice._core.ParkingFile), each an object of its own.
//
// An exception may come between any two instructions of a Python program. So what a transfer reads or writes belongs to
// the object that it is about: memory in which bytes are on their way lives at least as long, and the object's end waits.
#pragma once

#include <pybind11/pybind11.h>

namespace sluice::python {

void bind_parking(pybind11::module_& module);

}  // namespace sluice::python
