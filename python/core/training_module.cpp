// sluice._train: what sluice.Trainer does in C++. Tensors come from Python as addresses and element counts.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "python/core/own_process.hpp"
#include "python/core/raise_error.hpp"
#include "sluice/base/as_index.hpp"
#include "sluice/experiment/module/module_training.hpp"
#include "sluice/memory/process_memory.hpp"
#include "sluice/onnx/model/external_data.hpp"

namespace sluice::python {
namespace {

namespace py = pybind11;

using experiment::ModuleTraining;
using experiment::ModuleTrainingOptions;
using Memory = std::pair<std::uintptr_t, std::int64_t>;  // address, elements

template <typename T>
std::span<T> elements(const Memory& memory) {
  return {reinterpret_cast<T*>(memory.first), as_index(memory.second)};
}

graph::OptimizerOptions optimizer_options(const py::dict& values) {
  graph::OptimizerOptions options;
  options.optimizer = value_or_raise(graph::parse_optimizer(values["name"].cast<std::string>()));
  options.momentum = values["momentum"].cast<double>();
  options.beta2 = values["beta2"].cast<double>();
  options.epsilon = values["epsilon"].cast<double>();
  options.nesterov = values["nesterov"].cast<bool>();
  options.clip_norm = values["clip_norm"].cast<float>();
  return options;
}

std::shared_ptr<ModuleTraining> open(const std::string& onnx, const std::map<std::string, int>& trained,
                                     const std::vector<std::pair<double, float>>& groups, bool own_loss,
                                     const py::dict& optimizer, int threads, const std::optional<std::string>& fast,
                                     const std::string& planner, const std::string& folder, std::int64_t samples,
                                     std::uint64_t seed) {
  ModuleTrainingOptions options{.onnx = onnx, .optimizer = optimizer_options(optimizer)};
  options.trained = trained;
  for (const auto& [weight_decay, rate] : groups) options.groups.push_back({weight_decay, rate});
  options.own_loss = own_loss;
  options.threads = threads;
  options.planner = planner;
  options.folder = folder;
  options.samples = samples;
  options.seed = seed;
  if (fast) options.fast = value_or_raise(parse_memory_size(*fast));
  const py::gil_scoped_release others_run;
  return of_this_process(value_or_raise(ModuleTraining::create(options)));
}

float step(ModuleTraining& training, const std::vector<Memory>& batch, double learning_rate) {
  std::vector<std::span<const std::byte>> tensors;
  for (const Memory& each : batch) tensors.push_back(std::as_bytes(elements<const float>(each)));
  const py::gil_scoped_release others_run;
  return value_or_raise(training.step(tensors, learning_rate)).loss;
}

py::list inputs(const ModuleTraining& training) {
  py::list list;
  for (const data::InputTensor& each : training.inputs()) {
    list.append(py::make_tuple(each.name, std::string(data::content_name(each.content)), each.shape, each.bound));
  }
  return list;
}

}  // namespace

PYBIND11_MODULE(_train, module) {
  module.doc() = "Modules trained by Sluice's kernels, as sluice.Trainer uses them.";
  spdlog::set_default_logger(spdlog::stderr_color_mt("sluice"));  // standard output is the program's own
  const py::call_guard<py::gil_scoped_release> others_run;
  module.def(
      "give_inputs_values",
      [](const std::string& path, const std::string& weights, const std::map<std::string, Memory>& values,
         const std::set<std::string>& fed) {
        onnx::InputValues spans;
        for (const auto& [name, memory] : values) spans[name] = elements<const std::byte>(memory);
        raise_unless_ok(onnx::give_inputs_values(path, weights, spans, fed));
      },
      py::arg("path"), py::arg("weights"), py::arg("values"), py::arg("fed"),
      "Inputs of the ONNX file but those that are fed become initializers, large ones in the file `weights` beside it. "
      "values: addresses and bytes.");
  module.def("return_free_memory", &memory::return_free_memory, "What was freed goes back to the system.");
  py::class_<ModuleTraining, std::shared_ptr<ModuleTraining>>(module, "ModuleTraining")
      .def(py::init(&open), py::arg("onnx"), py::arg("trained"), py::arg("groups"), py::arg("own_loss"),
           py::arg("optimizer"), py::arg("threads"), py::arg("fast"), py::arg("planner"), py::arg("folder"),
           py::arg("samples"), py::arg("seed"))
      .def(
          "begin", [](ModuleTraining& training) { raise_unless_ok(training.begin()); }, others_run,
          "Before the first step; until then values are those of the file.")
      .def("inputs", &inputs, "(name, content, shape, bound) of each tensor of a batch.")
      .def(
          "change_batch",
          [](ModuleTraining& training, std::int64_t samples) { raise_unless_ok(training.change_batch(samples)); },
          py::arg("samples"), others_run)
      .def("step", &step, py::arg("batch"), py::arg("learning_rate"), "The loss.")
      .def("changing", &ModuleTraining::changing, "The initializers that steps change.")
      .def(
          "read",
          [](ModuleTraining& training, const std::string& name, const std::string& state, const Memory& into) {
            raise_unless_ok(training.read(name, state, elements<float>(into)));
          },
          py::arg("name"), py::arg("state"), py::arg("into"), others_run)
      .def(
          "write",
          [](ModuleTraining& training, const std::string& name, const std::string& state, const Memory& from) {
            raise_unless_ok(training.write(name, state, elements<const float>(from)));
          },
          py::arg("name"), py::arg("state"), py::arg("values"), others_run)
      .def_property("steps", &ModuleTraining::steps, &ModuleTraining::set_steps)
      .def_property_readonly("notes", &ModuleTraining::notes)
      .def_property_readonly("fast_bytes", &ModuleTraining::fast_bytes);
}

}  // namespace sluice::python
