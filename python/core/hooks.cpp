#include "python/core/hooks.hpp"

#include <torch/csrc/utils/pybind.h>

#include <functional>
#include <memory>

#include "python/core/saved_storage.hpp"

namespace sluice::python {
namespace {

// Called by the interpreter between two instructions of the main thread.
int raise_now(void* interruption) {
  const std::unique_ptr<py::error_already_set> error(static_cast<py::error_already_set*>(interruption));
  error->restore();
  return -1;
}

// Whether it will be raised later: it is no error, and the interpreter has room to remember it.
bool put_off(const py::error_already_set& error) {
  if (error.matches(PyExc_Exception)) return false;
  auto kept = std::make_unique<py::error_already_set>(error);
  if (Py_AddPendingCall(&raise_now, kept.get()) != 0) return false;
  (void)kept.release();
  return true;
}

py::object unless_interrupted(const py::function& hook, const py::object& argument,
                              const std::function<py::object()>& instead) {
  try {
    return hook(argument);
  } catch (const py::error_already_set& error) {
    if (!put_off(error)) throw;
  }
  return instead();
}

py::object keep(const py::object& tensor) {
  return py::cast(std::make_shared<SavedTensor>(tensor.cast<at::Tensor>(), nullptr));
}

py::object get(const py::object& saved) {
  const auto tensor = saved.cast<std::shared_ptr<SavedTensor>>();
  if (tensor->storage() != nullptr) (void)tensor->storage()->fetch();
  return py::cast(tensor->unpack([] { return false; }));
}

}  // namespace

void bind_hooks(py::module_& module) {
  module.def(
      "pack",
      [](const py::function& hook) {
        return py::cpp_function([hook](const py::object& tensor) {
          return unless_interrupted(hook, tensor, [&tensor] { return keep(tensor); });
        });
      },
      py::arg("hook"), "The hook, called for a tensor; a tensor stays where that is interrupted.");
  module.def(
      "unpack",
      [](const py::function& hook) {
        return py::cpp_function([hook](const py::object& saved) {
          return unless_interrupted(hook, saved, [&saved] { return get(saved); });
        });
      },
      py::arg("hook"), "The same of the hook that gives a tensor back.");
}

}  // namespace sluice::python
