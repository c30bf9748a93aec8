#include "benchmarks/planners/kept_problem.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/graph/builder/validate.hpp"

namespace sluice::benchmarks {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "sluice-problem";
constexpr int kVersion1 = 1;
constexpr double kTenths = 1e7;  // of a microsecond in a second

constexpr std::array kDTypes{graph::DType::kF32, graph::DType::kI32, graph::DType::kU8, graph::DType::kBF16,
                             graph::DType::kF16};
constexpr std::array kRoles{graph::Role::kInput,
                            graph::Role::kParameter,
                            graph::Role::kBuffer,
                            graph::Role::kOptimizerState,
                            graph::Role::kGradient,
                            graph::Role::kActivation,
                            graph::Role::kActivationGradient,
                            graph::Role::kWorkspace,
                            graph::Role::kOutput};
constexpr std::array kPhases{graph::Phase::kForward, graph::Phase::kBackward, graph::Phase::kUpdate};

// A number for each distinct value, in the order in which they come.
template <typename T>
class Numbering {
 public:
  std::int64_t operator()(const T& value) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] == value) return as_id<std::int64_t>(i);
    }
    values_.push_back(value);
    return static_cast<std::int64_t>(values_.size() - 1);
  }

 private:
  std::vector<T> values_;
};

json tensors_json(const graph::Graph& graph) {
  json columns;
  Numbering<std::string> layouts;
  for (const graph::Tensor& tensor : graph.tensors()) {
    columns["bytes"].push_back(tensor.bytes);
    columns["dtype"].push_back(to_string(tensor.dtype));
    columns["role"].push_back(to_string(tensor.role));
    columns["layout"].push_back(layouts(tensor.layout));
    columns["shape"].push_back(tensor.shape);
  }
  return columns;
}

json ops_json(const graph::Graph& graph, const profile::Profile& profile) {
  json columns;
  Numbering<std::tuple<graph::Attributes, graph::Slice, std::string>> works;
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    const graph::Op& op = graph.op(index);
    columns["name"].push_back(op.name);
    columns["kind"].push_back(to_string(op.kind));
    columns["phase"].push_back(to_string(op.phase));
    columns["layer"].push_back(op.layer);
    columns["does"].push_back(works({op.attributes, op.slice, op.views}));
    columns["accumulates"].push_back(op.slice.accumulate);
    columns["inputs"].push_back(op.inputs);
    columns["outputs"].push_back(op.outputs);
    columns["microseconds"].push_back(std::round(profile.op_seconds[index] * kTenths) / 10);
  }
  return columns;
}

// By the words that to_string() has for them.
template <typename Value>
Status read_words(const JsonReader& columns, const char* key, std::span<const Value> values,
                  std::vector<Value>& found) {
  std::vector<std::string> words;
  SLUICE_RETURN_IF_ERROR(columns.read(key, words));
  std::map<std::string_view, Value> known;
  for (const Value value : values) known.emplace(to_string(value), value);
  for (const std::string& word : words) {
    const auto it = known.find(word);
    if (it == known.end()) return columns.error(key, "unknown word '" + word + "'");
    found.push_back(it->second);
  }
  return {};
}

std::vector<graph::OpKind> op_kinds() {
  std::vector<graph::OpKind> kinds;
  for (int kind = 0; kind <= static_cast<int>(graph::kLastOpKind); ++kind)
    kinds.push_back(static_cast<graph::OpKind>(kind));
  return kinds;
}

template <typename... Columns>
Status check_lengths(const JsonReader& columns, std::size_t length, const Columns&... others) {
  if (((others.size() == length) && ...)) return {};
  return columns.error("columns of different lengths");
}

Status read_tensors(const JsonReader& columns, graph::Graph& graph) {
  std::vector<Bytes> bytes;
  std::vector<graph::DType> dtypes;
  std::vector<graph::Role> roles;
  std::vector<std::int64_t> layouts;
  std::vector<graph::Shape> shapes;
  SLUICE_RETURN_IF_ERROR(columns.read("bytes", bytes));
  SLUICE_RETURN_IF_ERROR(read_words<graph::DType>(columns, "dtype", kDTypes, dtypes));
  SLUICE_RETURN_IF_ERROR(read_words<graph::Role>(columns, "role", kRoles, roles));
  SLUICE_RETURN_IF_ERROR(columns.read("layout", layouts));
  SLUICE_RETURN_IF_ERROR(columns.read("shape", shapes));
  SLUICE_RETURN_IF_ERROR(check_lengths(columns, bytes.size(), dtypes, roles, layouts, shapes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] <= 0) return columns.error("bytes", "expected sizes above 0");
    graph.add_tensor({.name = fmt::format("t{}", i),
                      .shape = std::move(shapes[i]),
                      .dtype = dtypes[i],
                      .role = roles[i],
                      .bytes = bytes[i],
                      .layout = fmt::format("layout {}", layouts[i])});
  }
  return {};
}

struct OpColumns {
  std::vector<std::string> names;
  std::vector<graph::OpKind> kinds;
  std::vector<graph::Phase> phases;
  std::vector<graph::LayerIndex> layers;
  std::vector<std::int64_t> does;
  std::vector<bool> accumulates;
  std::vector<std::vector<graph::TensorId>> inputs, outputs;
  std::vector<double> microseconds;
};

Status read_columns(const JsonReader& columns, OpColumns& ops) {
  SLUICE_RETURN_IF_ERROR(columns.read("name", ops.names));
  SLUICE_RETURN_IF_ERROR(read_words<graph::OpKind>(columns, "kind", op_kinds(), ops.kinds));
  SLUICE_RETURN_IF_ERROR(read_words<graph::Phase>(columns, "phase", kPhases, ops.phases));
  SLUICE_RETURN_IF_ERROR(columns.read("layer", ops.layers));
  SLUICE_RETURN_IF_ERROR(columns.read("does", ops.does));
  SLUICE_RETURN_IF_ERROR(columns.read("accumulates", ops.accumulates));
  SLUICE_RETURN_IF_ERROR(columns.read("inputs", ops.inputs));
  SLUICE_RETURN_IF_ERROR(columns.read("outputs", ops.outputs));
  SLUICE_RETURN_IF_ERROR(columns.read("microseconds", ops.microseconds));
  return check_lengths(columns, ops.names.size(), ops.kinds, ops.phases, ops.layers, ops.does, ops.accumulates,
                       ops.inputs, ops.outputs, ops.microseconds);
}

bool names_tensors(const graph::Graph& graph, const std::vector<graph::TensorId>& operands) {
  return std::ranges::all_of(operands, [&](graph::TensorId id) { return id >= 0 && id < graph.tensor_count(); });
}

Status read_ops(const JsonReader& columns, KeptProblem& problem) {
  OpColumns ops;
  SLUICE_RETURN_IF_ERROR(read_columns(columns, ops));
  graph::Graph& graph = problem.graph;
  for (std::size_t i = 0; i < ops.names.size(); ++i) {
    if (!names_tensors(graph, ops.inputs[i]) || !names_tensors(graph, ops.outputs[i])) {
      return columns.error("op " + ops.names[i] + " names an unknown tensor");
    }
    if (ops.layers[i] < 0 || as_index(ops.layers[i]) >= graph.layers.size()) {
      return columns.error("layer", "op " + ops.names[i] + " is in a layer that there is not");
    }
    if (!(ops.microseconds[i] >= 0) || std::isinf(ops.microseconds[i])) {
      return columns.error("microseconds", "expected times from 0");
    }
    graph.add_op({.name = std::move(ops.names[i]),
                  .kind = ops.kinds[i],
                  .slice = {.accumulate = ops.accumulates[i]},
                  .inputs = std::move(ops.inputs[i]),
                  .outputs = std::move(ops.outputs[i]),
                  .layer = ops.layers[i],
                  .phase = ops.phases[i],
                  .views = fmt::format("does {}", ops.does[i])});
    problem.profile.op_seconds.push_back(ops.microseconds[i] / 1e6);
  }
  return {};
}

}  // namespace

json problem_json(const KeptProblem& problem) {
  return {{"format", kFormat},
          {"version", kVersion1},
          {"model", problem.model},
          {"batch", problem.batch},
          {"measured_on", problem.measured_on},
          {"layers", problem.graph.layers.size()},
          {"tensors", tensors_json(problem.graph)},
          {"ops", ops_json(problem.graph, problem.profile)}};
}

Result<KeptProblem> problem_from_json(const json& document) {
  const JsonReader reader(document);
  std::string format;
  int version = 0;
  std::uint16_t layers = 0;
  KeptProblem problem;
  SLUICE_RETURN_IF_ERROR(reader.read("format", format));
  SLUICE_RETURN_IF_ERROR(reader.read("version", version));
  if (format != kFormat || version != kVersion1) {
    return reader.error("format", fmt::format("expected {}, version {}", kFormat, kVersion1));
  }
  SLUICE_RETURN_IF_ERROR(reader.read("model", problem.model));
  SLUICE_RETURN_IF_ERROR(reader.read("batch", problem.batch));
  SLUICE_RETURN_IF_ERROR(reader.read("measured_on", problem.measured_on));
  SLUICE_RETURN_IF_ERROR(reader.read("layers", layers));
  problem.graph.name = problem.model;
  problem.graph.layers.assign(layers, "layer");
  SLUICE_ASSIGN(const JsonReader tensors, reader.object("tensors"));
  SLUICE_RETURN_IF_ERROR(read_tensors(tensors, problem.graph));
  SLUICE_ASSIGN(const JsonReader ops, reader.object("ops"));
  SLUICE_RETURN_IF_ERROR(read_ops(ops, problem));
  problem.profile.graph_fingerprint = problem.graph.fingerprint();
  problem.profile.provenance = memory::Provenance::kGiven;
  return problem;
}

Result<KeptProblem> read_problem(const std::filesystem::path& path) {
  SLUICE_ASSIGN(const json document, read_json_file(path));
  Result<KeptProblem> problem = problem_from_json(document);
  if (!problem.ok()) return Error{problem.error().code, path.string() + ": " + problem.error().message};
  return problem;
}

}  // namespace sluice::benchmarks
