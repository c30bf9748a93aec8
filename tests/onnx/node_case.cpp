#include "tests/onnx/node_case.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "sluice/onnx/model/initializers.hpp"
#include "sluice/onnx/model/model_file.hpp"
#include "sluice/onnx/model/proto.hpp"

namespace sluice::tests {
namespace {

constexpr double kRelativeTolerance = 1e-3;  // of onnx.backend.test
constexpr double kAbsoluteTolerance = 1e-7;
constexpr std::size_t kMostChoices = 6;  // inputs that may be data

template <typename Proto>
Result<Proto> read_proto(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Proto proto;
  if (!proto.ParseFromIstream(&file)) return bad_input("protobuf cannot read " + path.filename().string());
  return proto;
}

Result<std::vector<::onnx::TensorProto>> read_tensors(const std::filesystem::path& folder, const std::string& prefix,
                                                      int count) {
  std::vector<::onnx::TensorProto> tensors;
  for (int i = 0; i < count; ++i) {
    const auto path = folder / "test_data_set_0" / fmt::format("{}_{}.pb", prefix, i);
    SLUICE_ASSIGN(::onnx::TensorProto tensor, read_proto<::onnx::TensorProto>(path));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Integers as data are ids, as data sets give them: from 0 on.
bool may_be_data(const ::onnx::TensorProto& tensor) {
  if (std::any_of(tensor.dims().begin(), tensor.dims().end(), [](auto extent) { return extent == 0; })) return false;
  const int type = tensor.data_type();
  if (type == ::onnx::TensorProto::INT64 || type == ::onnx::TensorProto::INT32) {
    const auto source = onnx::check_tensor(tensor, {});
    const auto values = source.ok() ? onnx::read_array(*source) : Result<onnx::HostArray>(source.error());
    return values.ok() && std::ranges::all_of(values->ints, [](auto value) { return value >= 0; });
  }
  return type == ::onnx::TensorProto::FLOAT || type == ::onnx::TensorProto::DOUBLE ||
         type == ::onnx::TensorProto::FLOAT16 || type == ::onnx::TensorProto::BOOL;
}

// The data of a step: what the test gives, in the order of the input op.
class GivenInputs : public kernels::InputSource {
 public:
  void add(const onnx::HostArray& values) { arrays_.push_back(values); }

  Status fill(std::int64_t /*batch*/, std::span<const std::span<std::byte>> tensors) override {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      for (std::int64_t at = 0; at < arrays_[i].count(); ++at) {
        auto* const to = tensors[i].data() + at * 4;
        if (integers_[i]) {
          *reinterpret_cast<std::int32_t*>(to) = static_cast<std::int32_t>(arrays_[i].at(at));
        } else {
          *reinterpret_cast<float*>(to) = static_cast<float>(arrays_[i].at(at));
        }
      }
    }
    return {};
  }
  void know_types(const graph::Graph& graph) {
    if (arrays_.empty()) return;
    for (const graph::TensorId id : graph.op(0).outputs)
      integers_.push_back(graph.tensor(id).dtype == graph::DType::kI32);
  }

 private:
  std::vector<onnx::HostArray> arrays_;
  std::vector<bool> integers_;
};

// Every fp32 tensor's values, views among them.
Result<testing::NamedValues> run_given(const onnx::InferenceModel& model, kernels::Backend& backend,
                                       GivenInputs& inputs) {
  SLUICE_ASSIGN(testing::NamedValues leaves, given_weights_of(model));
  if (model.graph.op_count() == 0) return leaves;
  SLUICE_ASSIGN(const std::unique_ptr<kernels::CompiledGraph> compiled, backend.compile(model.graph, 2));
  testing::GraphRunner runner(*compiled);
  inputs.know_types(model.graph);
  kernels::StepContext context;
  context.input = &inputs;
  testing::NamedValues used;  // of what the lowered graph still has
  for (const graph::Tensor& tensor : compiled->graph().tensors()) {
    const auto leaf = leaves.find(tensor.name);
    if (leaf != leaves.end()) used.insert(*leaf);
  }
  testing::NamedValues values = testing::run_case(model.graph, runner, used, context);
  values.insert(leaves.begin(), leaves.end());
  for (const graph::Op& op : model.graph.ops()) {
    if (op.kind != graph::OpKind::kReshape) continue;
    const auto shown = values.find(model.graph.tensor(op.inputs[0]).name);
    if (shown != values.end()) values.try_emplace(model.graph.tensor(op.outputs[0]).name, shown->second);
  }
  return values;
}

bool close(double got, double wanted) {
  if (std::isnan(wanted)) return std::isnan(got);
  if (std::isinf(wanted)) return got == wanted;
  return std::abs(got - wanted) <= kAbsoluteTolerance + kRelativeTolerance * std::abs(wanted);
}

std::string difference(const std::string& name, const graph::Shape& shape, const std::vector<double>& got,
                       const onnx::HostArray& wanted) {
  const bool scalar = wanted.shape.empty() && graph::element_count(shape) == 1;
  if (shape != wanted.shape && !scalar) {
    return fmt::format("'{}' is {}, not {}", name, graph::to_string(shape), graph::to_string(wanted.shape));
  }
  for (std::int64_t i = 0; i < wanted.count(); ++i) {
    const double value = got[static_cast<std::size_t>(i)];
    const bool same = wanted.is_integer ? value == wanted.at(i) : close(value, wanted.at(i));
    if (!same) return fmt::format("element {} of '{}' is {}, not {}", i, name, value, wanted.at(i));
  }
  return {};
}

Result<std::string> compare(const onnx::InferenceModel& model, const testing::NamedValues& values,
                            const std::vector<::onnx::TensorProto>& expected) {
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const onnx::ForwardOutput& output = model.outputs[i];
    SLUICE_ASSIGN(const onnx::TensorSource source, onnx::check_tensor(expected[i], {}));
    SLUICE_ASSIGN(const onnx::HostArray wanted, onnx::read_array(source));
    std::vector<double> got;
    graph::Shape shape = output.known.shape;
    if (output.tensor) {
      const graph::Tensor& tensor = model.graph.tensor(*output.tensor);
      const auto found = values.find(tensor.name);
      if (found == values.end()) return bad_input("output '" + output.name + "' has no values in fp32");
      got.assign(found->second.begin(), found->second.end());
      shape = tensor.shape;
    } else {
      for (std::int64_t at = 0; at < output.known.count(); ++at) got.push_back(output.known.at(at));
    }
    const std::string different = difference(output.name, shape, got, wanted);
    if (!different.empty()) return different;
  }
  return std::string();
}

// The inputs that no initializer gives.
std::vector<::onnx::ValueInfoProto> open_inputs(const ::onnx::GraphProto& graph) {
  std::set<std::string> given;
  for (const ::onnx::TensorProto& tensor : graph.initializer()) given.insert(tensor.name());
  std::vector<::onnx::ValueInfoProto> open;
  for (const ::onnx::ValueInfoProto& input : graph.input()) {
    if (!given.contains(input.name())) open.push_back(input);
  }
  return open;
}

// The model with the inputs that are no data as initializers.
::onnx::ModelProto with_weights(const ::onnx::ModelProto& model, const std::vector<::onnx::TensorProto>& tensors,
                                unsigned data) {
  ::onnx::ModelProto result = model;
  const std::vector<::onnx::ValueInfoProto> open = open_inputs(model.graph());
  result.mutable_graph()->clear_input();
  // Of the ops that some tests ask for by older opsets, nothing has changed but what types they take.
  for (::onnx::OperatorSetIdProto& set : *result.mutable_opset_import()) {
    if (set.domain().empty()) set.set_version(std::max<std::int64_t>(set.version(), onnx::kFirstOpset));
  }
  for (std::size_t i = 0; i < open.size(); ++i) {
    if ((data >> i & 1U) != 0) {
      *result.mutable_graph()->add_input() = open[i];
      continue;
    }
    ::onnx::TensorProto& weights = *result.mutable_graph()->add_initializer();
    weights = tensors[i];
    weights.set_name(open[i].name());
  }
  return result;
}

struct NodeCase {
  ::onnx::ModelProto model;
  std::vector<::onnx::TensorProto> inputs, outputs;
};

Result<NodeCase> read_case(const std::filesystem::path& folder) {
  NodeCase read;
  SLUICE_ASSIGN(read.model, read_proto<::onnx::ModelProto>(folder / "model.onnx"));
  for (const auto* list : {&read.model.graph().input(), &read.model.graph().output()}) {
    for (const ::onnx::ValueInfoProto& value : *list) {
      if (!value.type().has_tensor_type()) return bad_input("has sequences or optional values");
    }
  }
  SLUICE_ASSIGN(read.inputs, read_tensors(folder, "input", static_cast<int>(open_inputs(read.model.graph()).size())));
  SLUICE_ASSIGN(read.outputs, read_tensors(folder, "output", read.model.graph().output_size()));
  return read;
}

// Which inputs are data, as bits: most first.
std::vector<unsigned> choices_of(const NodeCase& node) {
  unsigned allowed = 0;
  for (std::size_t i = 0; i < std::min(node.inputs.size(), kMostChoices); ++i) {
    if (may_be_data(node.inputs[i])) allowed |= 1U << i;
  }
  std::vector<unsigned> choices;
  for (unsigned data = 0; data <= allowed; ++data) {
    if ((data & ~allowed) == 0) choices.push_back(data);
  }
  std::ranges::stable_sort(choices, [](unsigned a, unsigned b) { return std::popcount(a) > std::popcount(b); });
  return choices;
}

Result<std::string> run_choice(const onnx::InferenceModel& model, const NodeCase& node, unsigned data,
                               kernels::Backend& backend) {
  GivenInputs inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if ((data >> i & 1U) == 0) continue;
    SLUICE_ASSIGN(const onnx::TensorSource source, onnx::check_tensor(node.inputs[i], {}));
    SLUICE_ASSIGN(const onnx::HostArray values, onnx::read_array(source));
    inputs.add(values);
  }
  try {
    SLUICE_ASSIGN(const testing::NamedValues values, run_given(model, backend, inputs));
    return compare(model, values, node.outputs);
  } catch (const std::exception& failure) {  // an op that refuses its operands
    return bad_input(failure.what());
  }
}

Result<onnx::InferenceModel> import_with(const NodeCase& node, unsigned data, const std::filesystem::path& scratch) {
  const std::filesystem::path path = scratch / "model.onnx";
  std::ofstream(path, std::ios::binary) << with_weights(node.model, node.inputs, data).SerializeAsString();
  return onnx::import_forward(path);
}

}  // namespace

std::filesystem::path onnx_test_data(const std::string& kind) {
  const char* const given = std::getenv("SLUICE_ONNX_TESTDATA");
  return std::filesystem::path(given != nullptr ? given : "/usr/share/libonnx-testdata/data") / kind;
}

std::vector<std::filesystem::path> folders_in(const std::filesystem::path& data) {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(data)) folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "sluice_node_XXXXXX").string();
  path_ = mkdtemp(name.data());
}

ScratchFolder::~ScratchFolder() { std::filesystem::remove_all(path_); }

std::set<std::string> ops_of_node_case(const std::filesystem::path& folder) {
  std::set<std::string> ops;
  const auto model = read_proto<::onnx::ModelProto>(folder / "model.onnx");
  if (!model.ok()) return ops;
  for (const ::onnx::NodeProto& node : model->graph().node()) {
    ops.insert(node.domain().empty() || node.domain() == "ai.onnx" ? node.op_type()
                                                                   : node.domain() + "." + node.op_type());
  }
  return ops;
}

NodeVerdict run_node_case(const std::filesystem::path& folder, kernels::Backend& backend,
                          const std::filesystem::path& scratch) {
  NodeVerdict verdict;
  const auto node = read_case(folder);
  if (!node.ok()) {
    verdict.refused = node.error().message;
    return verdict;
  }
  for (const unsigned data : choices_of(*node)) {
    const auto model = import_with(*node, data, scratch);
    if (!model.ok()) {
      if ((data & 1U) != 0) verdict.refused = model.error().message;
      if (verdict.refused.empty()) verdict.refused = model.error().message;
      continue;
    }
    if (verdict.runs++ == 0) verdict.data = std::popcount(data);
    const auto different = run_choice(*model, *node, data, backend);
    const std::string what = different.ok() ? *different : different.error().message;
    if (!what.empty()) verdict.differs = fmt::format("with {} of its inputs as data, {}", std::popcount(data), what);
  }
  if (verdict.runs > 0) verdict.refused.clear();
  if (verdict.refused.starts_with(scratch.string())) verdict.refused.erase(0, verdict.refused.find(": ") + 2);
  std::ranges::replace(verdict.refused, '\n', ' ');
  return verdict;
}

Result<std::vector<std::vector<float>>> run_inference(const onnx::InferenceModel& model, kernels::Backend& backend,
                                                      const std::vector<onnx::HostArray>& data) {
  GivenInputs inputs;
  for (const onnx::HostArray& values : data) inputs.add(values);
  SLUICE_ASSIGN(const testing::NamedValues values, run_given(model, backend, inputs));
  std::vector<std::vector<float>> results;
  for (const onnx::ForwardOutput& output : model.outputs) {
    if (!output.tensor) return bad_input("an output does not depend on the data");
    const auto found = values.find(model.graph.tensor(*output.tensor).name);
    if (found == values.end()) return bad_input("output '" + output.name + "' has no values in fp32");
    results.push_back(found->second);
  }
  return results;
}

Result<onnx::InferenceModel> import_node_of_weights(const std::filesystem::path& folder,
                                                    const std::filesystem::path& scratch) {
  SLUICE_ASSIGN(const NodeCase node, read_case(folder));
  return import_with(node, 0, scratch);
}

Result<testing::NamedValues> given_weights_of(const onnx::InferenceModel& model) {
  testing::NamedValues leaves;
  for (const graph::Tensor& tensor : model.graph.tensors()) {
    if (tensor.init.kind != graph::Init::Kind::kGiven) continue;
    std::vector<float> values(static_cast<std::size_t>(graph::element_count(tensor.shape)));
    SLUICE_RETURN_IF_ERROR(model.values->read(tensor.init.source, 0, values));
    leaves[tensor.name] = std::move(values);
  }
  return leaves;
}

}  // namespace sluice::tests
