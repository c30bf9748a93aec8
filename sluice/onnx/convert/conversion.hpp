// One walk over a model that builds its graph: what every value of the model has become so far, and the tools that the
// converters of single ops (converters.hpp) share.
//
// A value is one of three things: an array that is known now (shapes, indices, masks: folded on the way), an expression
// over weights (a parameter once an op needs it), or a tensor of the graph. The walk goes on after a node that cannot
// be converted, so that everything that is wrong is found at once.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/onnx/convert/weight_expression.hpp"
#include "sluice/onnx/model/network.hpp"
#include "sluice/onnx/model/node_attributes.hpp"

namespace sluice::onnx {

struct Value {
  enum class Kind { kUnknown, kArray, kWeights, kTensor } kind = Kind::kUnknown;  // kUnknown: made by a failed node
  std::shared_ptr<const HostArray> array;
  Weights weights;
  graph::TensorId tensor = -1;
  // Of tensors, what the next op is still to do:
  std::array<std::int64_t, 4> padding = {};  // zeros around the image: top, left, bottom, right
  bool causal = false;                       // scores that a softmax is to mask above the diagonal
  bool time_major = false;                   // ids [T, B] of the model, kept as [B, T]
  bool integral = false;                     // integers or booleans, which fp32 holds: not to be divided as numbers are
};

Value array_value(HostArray array);
Value weights_value(Weights weights);
Value tensor_value(graph::TensorId tensor);

// What the parameters of a model are made of, by tensor name. Kept for reading initial values and for writing back.
using ParameterSources = std::map<std::string, Weights>;

// Initializers that several ops use in forms that do not fit together: they stay whole parameters.
using SharedInitializers = std::set<std::string>;

class Conversion {
 public:
  Conversion(const Initializers& given, const Network& nodes, const std::filesystem::path& model_file,
             std::int64_t version, const std::string& model_name)
      : initializers(given), network(nodes), file(model_file), opset(version), builder(model_name) {}

  const Initializers& initializers;
  const Network& network;
  const std::filesystem::path file;
  const std::int64_t opset;
  graph::GraphBuilder builder;
  ParameterSources sources;
  std::vector<std::string> notes;
  std::int64_t file_batch = 0, batch = 0;   // of the first input; file_batch 0: a name
  SharedInitializers shared;                // found by the walk before this one
  std::set<const ::onnx::NodeProto*> live;  // the nodes that the loss needs
  std::map<std::string, int> trained;       // as OnnxOptions has them
  bool infers = false;                      // forward_model.hpp: running statistics, no dropout
  bool as_stated = false;                   // batch norms train or not as their nodes say
  std::set<std::string> wanted;             // the model's outputs, where all are kept

  // What a value of the model is now; initializers are looked up as they are needed.
  Value value(const std::string& name);
  void set(const std::string& name, Value value);

  // What is made of constants, and kept: arrays and literals (counted by set() and parameter()), matrices. kBadInput
  // where it is more so far than a file with so many bytes of weights may ask for.
  void count_constant(Bytes bytes) { constant_bytes_ += bytes; }
  Status check_constants() const;
  std::optional<graph::Shape> shape(const Value& value) const;

  // The parameter (or, when only literals make it, the buffer) with these values. `hint` names it when no initializer
  // is it. Errors: an expression that is too large.
  Result<graph::TensorId> parameter(const Weights& weights, const std::string& hint,
                                    graph::Role role = graph::Role::kParameter);
  Result<graph::TensorId> tensor(const Value& value, const std::string& name);

  // A reader whose work the op before it has done (absorb()) is not visited again.
  bool is_read(const std::string& value) const;  // by a node that the loss needs
  void absorb(const ::onnx::NodeProto& node) { absorbed_.insert(&node); }
  bool is_absorbed(const ::onnx::NodeProto& node) const { return absorbed_.contains(&node); }

  SharedInitializers find_shared() const;

 private:
  std::set<int> groups_of(const std::set<std::string>& names) const;
  Result<graph::TensorId> realize(const Weights& weights);
  std::string distinct_name(const std::string& name);

  std::map<std::string, Value> values_;
  std::map<std::string, graph::TensorId> parameters_;  // by WeightExpression::text()
  std::map<std::string, Weights> uses_;                // the same keys
  std::set<const ::onnx::NodeProto*> absorbed_;
  Bytes constant_bytes_ = 0;
};

// A node and everything its converter may ask for.
class Node {
 public:
  Node(Conversion& walk, const ::onnx::NodeProto& node)
      : conversion(walk), builder(walk.builder), proto(node), attributes(node) {}

  Conversion& conversion;
  graph::GraphBuilder& builder;
  const ::onnx::NodeProto& proto;
  NodeAttributes attributes;

  std::int64_t opset() const { return conversion.opset; }
  std::string name() const { return Network::name_of(proto); }
  int inputs() const { return proto.input_size(); }
  bool has(int input) const { return input < inputs() && !proto.input(input).empty(); }
  Value value(int input) { return has(input) ? conversion.value(proto.input(input)) : Value{}; }
  bool is_constant(int input);  // an array, or weights small enough to be computed with
  bool is_weights(int input) { return value(input).kind == Value::Kind::kWeights; }
  Result<graph::Shape> shape(int input);
  Result<graph::TensorId> tensor(int input);
  Result<HostArray> array(int input);
  Result<std::vector<std::int64_t>> integers(int input);
  // Weights of `rank` dimensions: initializers or literals. Errors: a tensor of the graph.
  Result<Weights> weights(int input, std::size_t rank);

  void set(Value value, int output = 0);
  void set(graph::TensorId tensor, int output = 0) { set(tensor_value(tensor), output); }
  // Of a tensor of whole numbers or booleans. What set() has set is one where the node's first input is.
  void set_integral(graph::TensorId tensor, int output = 0);
  bool is_integral(int input);

  // Adds an op whose result may be large, after a check of how large it is. Errors: more than kMostElements.
  Result<graph::TensorId> add(graph::OpKind kind, const graph::Attributes& wanted,
                              const std::vector<graph::TensorId>& inputs);

  // The only reader of the last result so far, if it is of this type; else null. This converter may then do the
  // reader's work: absorb_reader().
  const ::onnx::NodeProto* only_reader(const std::string& op_type) const;
  void absorb_reader(const ::onnx::NodeProto& reader);
  // A ReLU or ReLU6 that follows.
  graph::Activation absorb_activation();

  Error error(const std::string& message) const { return {ErrorCode::kBadInput, message}; }

 private:
  std::vector<std::string> result_names_;  // of output 0 and of the readers absorbed after it
};

}  // namespace sluice::onnx
