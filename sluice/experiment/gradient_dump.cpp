#include "sluice/experiment/gradient_dump.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "sluice/base/as_index.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/data/data_source.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/train/workload/workload_json.hpp"

namespace sluice::experiment {
namespace {

using nlohmann::json;

// Runs a step op by op in one arena, by the fast-only plan, and lets the caller look before each op.
class WatchedStep : public exec::Executor {
 public:
  using Watch = std::function<Status(const graph::Op&)>;

  static Result<std::unique_ptr<WatchedStep>> create(train::Workload& workload, Watch watch) {
    const graph::Graph& graph = workload.graph();
    const memory::Machine machine = memory::host_machine(workload.options.threads);
    profile::Profile profile;
    profile.op_seconds.assign(as_index(graph.op_count()), 1e-3);
    SLUICE_ASSIGN(
        const plan::Plan plan,
        planners::make_plan(planners::kBaselinePlanner, {graph, profile, machine, {machine.tiers.front().capacity}}));
    SLUICE_ASSIGN(memory::Arena arena, memory::Arena::map(plan.arena_bytes.front(), "dram"));
    return std::unique_ptr<WatchedStep>(new WatchedStep(*workload.compiled, plan, std::move(arena), std::move(watch)));
  }

  Result<program::StepTimes> run_step(const kernels::StepContext& context) override {
    std::vector<void*> operands;
    for (graph::OpIndex index = 0; index < graph().op_count(); ++index) {
      const graph::Op& op = graph().op(index);
      SLUICE_RETURN_IF_ERROR(watch_(op));
      operands.clear();
      for (const graph::TensorId id : op.inputs) operands.push_back(at(id));
      for (const graph::TensorId id : op.outputs) operands.push_back(at(id));
      SLUICE_RETURN_IF_ERROR(compiled_.run(index, operands, context));
    }
    return program::StepTimes{};
  }

  Status read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) override {
    std::memcpy(bytes.data(), at(tensor), bytes.size());
    return {};
  }
  Status write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) override {
    std::memcpy(at(tensor), bytes.data(), bytes.size());
    return {};
  }
  std::vector<std::string> notes() const override { return {}; }

 private:
  WatchedStep(kernels::CompiledGraph& compiled, const plan::Plan& plan, memory::Arena arena, Watch watch)
      : compiled_(compiled), arena_(std::move(arena)), watch_(std::move(watch)) {
    offsets_.resize(graph().tensors().size());
    for (const plan::Residency& residency : plan.residencies) {
      offsets_[as_index(residency.tensor)] = residency.offset;
    }
  }

  const graph::Graph& graph() const { return compiled_.graph(); }
  std::byte* at(graph::TensorId tensor) const { return arena_.data() + offsets_[as_index(tensor)]; }

  kernels::CompiledGraph& compiled_;
  memory::Arena arena_;
  Watch watch_;
  std::vector<Bytes> offsets_;  // by TensorId
};

// A parameter as it was before slicing.
struct Whole {
  std::string name;
  graph::Shape shape;
  std::int64_t index = 0;  // among those of its role
};

std::vector<Whole> wholes(const graph::Graph& graph, graph::Role role) {
  std::vector<Whole> found;
  std::map<std::string, std::size_t> index;
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.role != role) continue;
    const auto [entry, is_new] = index.emplace(graph::whole_name(tensor), found.size());
    if (is_new) {
      found.push_back({entry->first, tensor.shape, std::ssize(found)});
    } else {
      found[entry->second].shape.front() += tensor.shape.front();
    }
  }
  return found;
}

class GradientDump {
 public:
  GradientDump(train::Workload& workload, const train::SessionOptions& options, const GradientDumpOptions& dump)
      : workload_(workload), options_(options), dump_(dump), folder_(dump.folder) {}

  Status run() {
    std::error_code failure;
    std::filesystem::create_directories(folder_, failure);
    if (failure) return cannot_write(folder_, failure.message());
    SLUICE_ASSIGN(const auto step,
                  WatchedStep::create(workload_, [this](const graph::Op& op) { return note_gradient(op); }));
    train::ParameterAccess access(*workload_.compiled, *step);
    access_ = &access;
    SLUICE_RETURN_IF_ERROR(train::initialise_parameters(access, options_.seed, workload_.values.get()));
    if (!dump_.parameters.empty()) SLUICE_RETURN_IF_ERROR(read_parameters());
    manifest_ = {{"model", workload_.forward.name},
                 {"settings", workload_to_json(workload_.options)},
                 {"seed", options_.seed},
                 {"losses", json::object()}};
    manifest_["settings"]["learning_rate"] = dump_.learning_rate;
    SLUICE_RETURN_IF_ERROR(write_tensors(graph::Role::kParameter, "parameter", "parameters"));
    SLUICE_RETURN_IF_ERROR(write_tensors(graph::Role::kBuffer, "buffer", "buffers"));
    const std::vector<data::InputTensor> inputs = data::input_tensors(graph());
    SLUICE_ASSIGN(const auto data, data::open_data_source(options_.data, inputs, options_.seed));
    SLUICE_RETURN_IF_ERROR(write_inputs(inputs, *data));
    SLUICE_RETURN_IF_ERROR(
        step->run_step({.learning_rate = dump_.learning_rate, .input = data.get(), .seed = options_.seed}));
    SLUICE_RETURN_IF_ERROR(note_losses());
    const std::string text = manifest_.dump(1) + "\n";
    return write_part("manifest.json", 0, std::as_bytes(std::span(text.data(), text.size())));
  }

 private:
  const graph::Graph& graph() const { return workload_.graph(); }

  static Error cannot_write(const std::filesystem::path& path, const std::string& why) {
    return {ErrorCode::kIo, fmt::format("cannot write {}: {}", path.string(), why)};
  }

  // Writes at `offset`; the first part of a file to be written makes it anew.
  Status write_part(const std::string& name, std::int64_t offset, std::span<const std::byte> bytes) {
    const std::filesystem::path path = folder_ / name;
    const auto mode = std::ios::binary | std::ios::out;
    std::ofstream file(path, started_[name] ? mode | std::ios::in : mode | std::ios::trunc);
    started_[name] = true;
    file.seekp(offset);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) return cannot_write(path, std::strerror(errno));
    return {};
  }

  // The parameters of an earlier dump of the same model, as they are in its folder now.
  Status read_parameters() {
    for (const Whole& whole : wholes(graph(), graph::Role::kParameter)) {
      const std::filesystem::path path = dump_.parameters / fmt::format("parameter_{:04}.bin", whole.index);
      std::ifstream file(path, std::ios::binary);
      for (const graph::TensorId id : train::persistent_tensors(graph())) {
        const graph::Tensor& tensor = graph().tensor(id);
        if (tensor.role != graph::Role::kParameter || graph::whole_name(tensor) != whole.name) continue;
        const std::span<float> values = access_->stage(id);
        const std::int64_t row = static_cast<std::int64_t>(values.size_bytes()) / tensor.shape.front();
        file.seekg(tensor.part.rows.begin * row);
        file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
        if (!file) return Error{ErrorCode::kIo, fmt::format("cannot read {} from {}", tensor.name, path.string())};
        SLUICE_RETURN_IF_ERROR(access_->write(id));
      }
    }
    return {};
  }

  // `tensor` (a parameter, or its gradient) into the parameter's part of the whole's file.
  Status write_values(graph::TensorId tensor, const graph::TensorPart& part, const std::string& file) {
    SLUICE_ASSIGN(const std::span<const float> values, access_->read(tensor));
    const graph::Shape& shape = graph().tensor(tensor).shape;
    const std::int64_t row = shape.empty() ? 1 : std::ssize(values) / shape.front();
    const auto bytes = std::int64_t{sizeof(float)};
    return write_part(file, part.rows.begin * row * bytes, std::as_bytes(values));
  }

  Status write_tensors(graph::Role role, const std::string& prefix, const std::string& list) {
    std::map<std::string, std::string> files;
    manifest_[list] = json::array();
    for (const Whole& each : wholes(graph(), role)) {
      const std::string file = fmt::format("{}_{:04}.bin", prefix, each.index);
      json entry = {{"name", each.name}, {"shape", each.shape}, {"file", file}};
      if (role == graph::Role::kParameter) {
        entry["gradient"] = gradient_files_[each.name] = fmt::format("gradient_{:04}.bin", each.index);
      }
      files[each.name] = file;
      manifest_[list].push_back(entry);
    }
    for (const graph::TensorId id : train::persistent_tensors(graph())) {
      const graph::Tensor& tensor = graph().tensor(id);
      if (tensor.role != role) continue;
      SLUICE_RETURN_IF_ERROR(write_values(id, tensor.part, files.at(graph::whole_name(tensor))));
    }
    return {};
  }

  Status write_inputs(const std::vector<data::InputTensor>& inputs, kernels::InputSource& data) {
    std::vector<std::vector<std::byte>> buffers;
    std::vector<std::span<std::byte>> spans;
    for (const data::InputTensor& each : inputs) buffers.emplace_back(as_index(4 * each.elements()));
    for (auto& buffer : buffers) spans.emplace_back(buffer);
    SLUICE_RETURN_IF_ERROR(data.fill(0, spans));
    manifest_["inputs"] = json::array();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const data::InputTensor& each = inputs[i];
      const std::string file = fmt::format("input_{}.bin", i);
      manifest_["inputs"].push_back({{"name", each.name},
                                     {"content", data::content_name(each.content)},
                                     {"shape", each.shape},
                                     {"dtype", graph::is_float(each.content) ? "float32" : "int32"},
                                     {"bound", each.bound},
                                     {"file", file}});
      SLUICE_RETURN_IF_ERROR(write_part(file, 0, buffers[i]));
    }
    return {};
  }

  Status note_gradient(const graph::Op& op) {
    if (!graph::is_update(op.kind)) return {};
    const graph::Tensor& parameter = graph().tensor(op.inputs.at(0));
    return write_values(op.inputs.at(1), parameter.part, gradient_files_.at(graph::whole_name(parameter)));
  }

  Status note_losses() {
    double sum = 0;
    for (const graph::TensorId id : train::loss_tensors(graph())) {
      SLUICE_ASSIGN(const std::span<const float> value, access_->read(id));
      manifest_["losses"][graph().tensor(id).name] = value[0];
      sum += static_cast<double>(value[0]);
    }
    manifest_["loss"] = sum;
    return {};
  }

  train::Workload& workload_;
  const train::SessionOptions& options_;
  const GradientDumpOptions& dump_;
  std::filesystem::path folder_;
  train::ParameterAccess* access_ = nullptr;
  json manifest_;
  std::map<std::string, std::string> gradient_files_;  // by the whole parameter's name
  std::map<std::string, bool> started_;                // files that exist
};

}  // namespace

Status dump_gradients(train::Workload& workload, const train::SessionOptions& options,
                      const GradientDumpOptions& dump) {
  return GradientDump(workload, options, dump).run();
}

}  // namespace sluice::experiment
