// A seeded mutator of ONNX models: whatever the bytes, importing ends with a model or an error.
//
//   SLUICE_FUZZ_SECONDS=600 SLUICE_FUZZ_SEED=7 sluice_onnx_fuzz_test
//
// Two kinds of changes: of bytes (flips, cuts, copies), which mostly stop at protobuf, and of fields (extents, numbers,
// names, types), which reach the converters. The input under test is kept as fuzz_input.onnx while it runs, so that a
// crash leaves it behind, with its round in the test's output.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>

#include "tests/onnx/model_maker.hpp"

namespace sluice::tests {
namespace {

using Random = std::mt19937_64;

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

std::size_t below(Random& random, std::size_t limit) { return limit == 0 ? 0 : random() % limit; }

std::int64_t odd_number(Random& random) {
  static const std::vector<std::int64_t> numbers = {0,         -1,        1,         2,         3,        7,
                                                    255,       -2,        16,        1 << 20,   1 << 30,  1LL << 32,
                                                    1LL << 40, 1LL << 62, INT64_MAX, INT64_MIN, 3LL << 30};
  return numbers[below(random, numbers.size())];
}

void mutate_bytes(std::string& bytes, Random& random) {
  for (std::size_t i = 0, count = 1 + below(random, 4); i < count && !bytes.empty(); ++i) {
    const std::size_t at = below(random, bytes.size());
    const std::size_t length = std::min(bytes.size() - at, 1 + below(random, 16));
    switch (below(random, 4)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(below(random, bytes.size()), bytes.substr(at, length));
        break;
      default:
        bytes.resize(at);
    }
  }
}

// A value's name that is somewhere in the model.
std::string some_name(const ::onnx::GraphProto& graph, Random& random) {
  const ::onnx::NodeProto& node =
      graph.node(static_cast<int>(below(random, static_cast<std::size_t>(graph.node_size()))));
  const int values = node.input_size() + node.output_size();
  if (values == 0) return "x";
  const int at = static_cast<int>(below(random, static_cast<std::size_t>(values)));
  return at < node.input_size() ? node.input(at) : node.output(at - node.input_size());
}

void mutate_attribute(::onnx::NodeProto& node, Random& random) {
  if (node.attribute_size() == 0) return;
  const auto count = static_cast<std::size_t>(node.attribute_size());
  ::onnx::AttributeProto& attribute = *node.mutable_attribute(static_cast<int>(below(random, count)));
  if (attribute.ints_size() > 0 && below(random, 2) == 0) {
    attribute.set_ints(static_cast<int>(below(random, static_cast<std::size_t>(attribute.ints_size()))),
                       odd_number(random));
  } else if (below(random, 3) == 0) {
    attribute.add_ints(odd_number(random));
  } else if (attribute.has_t()) {
    attribute.mutable_t()->add_dims(odd_number(random));
  } else {
    attribute.set_i(odd_number(random));
    attribute.set_f(static_cast<float>(odd_number(random)));
  }
}

void mutate_node(::onnx::GraphProto& graph, Random& random) {
  static const std::vector<std::string> ops = {"Conv",
                                               "MaxPool",
                                               "AveragePool",
                                               "Gemm",
                                               "MatMul",
                                               "Add",
                                               "Mul",
                                               "Div",
                                               "Reshape",
                                               "Transpose",
                                               "Concat",
                                               "Slice",
                                               "Split",
                                               "Gather",
                                               "Squeeze",
                                               "Unsqueeze",
                                               "Expand",
                                               "Pad",
                                               "Softmax",
                                               "LSTM",
                                               "Where",
                                               "Range",
                                               "Shape",
                                               "Cast",
                                               "Pow",
                                               "Clip",
                                               "Constant",
                                               "Dropout",
                                               "ReduceMean",
                                               "ConstantOfShape",
                                               "LayerNormalization",
                                               "BatchNormalization",
                                               "ConvTranspose",
                                               "GlobalMaxPool",
                                               "Flatten",
                                               "Resize",
                                               "Upsample",
                                               "GRU",
                                               "RNN",
                                               "Einsum",
                                               "GatherElements",
                                               "GatherND",
                                               "ScatterElements",
                                               "ScatterND",
                                               "OneHot",
                                               "Compress",
                                               "TopK",
                                               "ArgMax",
                                               "CumSum",
                                               "Hardmax",
                                               "ReduceProd",
                                               "ReduceMax",
                                               "ReduceLogSumExp",
                                               "GroupNormalization",
                                               "InstanceNormalization",
                                               "RMSNormalization",
                                               "LpNormalization",
                                               "MeanVarianceNormalization",
                                               "LpPool",
                                               "Col2Im",
                                               "CenterCropPad",
                                               "DepthToSpace",
                                               "SpaceToDepth",
                                               "Tile",
                                               "Trilu",
                                               "ReverseSequence",
                                               "DFT",
                                               "PRelu",
                                               "Mod",
                                               "Equal",
                                               "Xor",
                                               "CastLike",
                                               "Celu",
                                               "EyeLike"};
  const auto nodes = static_cast<std::size_t>(graph.node_size());
  ::onnx::NodeProto& node = *graph.mutable_node(static_cast<int>(below(random, nodes)));
  switch (below(random, 5)) {
    case 0:
      node.set_op_type(ops[below(random, ops.size())]);
      break;
    case 1:
      if (node.input_size() > 0) {
        node.set_input(static_cast<int>(below(random, static_cast<std::size_t>(node.input_size()))),
                       some_name(graph, random));
      }
      break;
    case 2:
      node.add_input(some_name(graph, random));
      break;
    case 3:
      if (node.input_size() > 0) node.mutable_input()->RemoveLast();
      break;
    default:
      mutate_attribute(node, random);
  }
}

void mutate_initializer(::onnx::GraphProto& graph, Random& random) {
  const auto count = static_cast<std::size_t>(graph.initializer_size());
  ::onnx::TensorProto& tensor = *graph.mutable_initializer(static_cast<int>(below(random, count)));
  switch (below(random, 5)) {
    case 0:
      if (tensor.dims_size() > 0) {
        tensor.set_dims(static_cast<int>(below(random, static_cast<std::size_t>(tensor.dims_size()))),
                        odd_number(random));
      }
      break;
    case 1:  // the same elements in another shape
      tensor.add_dims(1);
      break;
    case 2:
      if (tensor.dims_size() > 1) tensor.mutable_dims()->SwapElements(0, 1);
      break;
    case 3:
      if (tensor.int64_data_size() > 0) tensor.set_int64_data(0, odd_number(random));
      break;
    default:
      tensor.set_data_type(static_cast<int>(below(random, 17)));
  }
}

void mutate_fields(::onnx::ModelProto& model, Random& random) {
  ::onnx::GraphProto& graph = *model.mutable_graph();
  for (std::size_t i = 0, count = 1 + below(random, 4); i < count; ++i) {
    switch (below(random, 4)) {
      case 0: {
        ::onnx::TensorShapeProto& shape =
            *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
        const auto rank = static_cast<std::size_t>(shape.dim_size());
        if (rank > 0) shape.mutable_dim(static_cast<int>(below(random, rank)))->set_dim_value(odd_number(random));
        break;
      }
      case 1:
        mutate_initializer(graph, random);
        break;
      default:
        mutate_node(graph, random);
    }
  }
}

TEST(OnnxFuzz, EveryMutationEndsWithAModelOrAnError) {
  const auto seed = static_cast<std::uint64_t>(from_environment("SLUICE_FUZZ_SEED", 1));
  const auto seconds = std::chrono::seconds(from_environment("SLUICE_FUZZ_SECONDS", 2));
  Random random(seed);
  ModelMaker image, language, lstm;
  make_image_classifier(image);
  make_language_model(language);
  make_lstm(lstm);
  const std::filesystem::path path = image.folder() / "fuzz_input.onnx";
  const auto until = std::chrono::steady_clock::now() + seconds;
  std::int64_t rounds = 0;
  std::int64_t imported = 0;
  for (; std::chrono::steady_clock::now() < until; ++rounds) {
    ModelMaker* makers[] = {&image, &language, &lstm};
    ::onnx::ModelProto model = makers[below(random, 3)]->proto();
    model.mutable_opset_import(0)->set_version(9 + static_cast<std::int64_t>(below(random, 9)));
    if (below(random, 4) != 0) mutate_fields(model, random);
    std::string bytes = model.SerializeAsString();
    if (below(random, 4) == 0) mutate_bytes(bytes, random);
    std::ofstream(path, std::ios::binary) << bytes;
    const Result<onnx::OnnxModel> result =
        onnx::import_onnx(path, {.batch = static_cast<std::int64_t>(below(random, 3))});
    imported += result.ok() ? 1 : 0;
    const bool explained = result.ok() || !result.error().message.empty();
    ASSERT_TRUE(explained) << "seed " << seed << ", round " << rounds;
  }
  std::printf("seed %llu: %lld models, %lld of them imported\n", static_cast<unsigned long long>(seed),
              static_cast<long long>(rounds), static_cast<long long>(imported));
  EXPECT_GT(imported, 0);
}

}  // namespace
}  // namespace sluice::tests
