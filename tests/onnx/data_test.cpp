// Where values of initializers come from and go to: types, external data, export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <span>

#include "sluice/onnx/model/external_data.hpp"
#include "sluice/onnx/model/half.hpp"
#include "tests/onnx/model_maker.hpp"

namespace sluice::tests {
namespace {

::onnx::TensorProto& initializer(ModelMaker& maker, const std::string& name) {
  for (::onnx::TensorProto& tensor : *maker.proto().mutable_graph()->mutable_initializer()) {
    if (tensor.name() == name) return tensor;
  }
  throw std::logic_error("no initializer " + name);
}

void store_outside(ModelMaker& maker, const std::string& name, const std::string& file, std::int64_t offset) {
  ::onnx::TensorProto& tensor = initializer(maker, name);
  std::ofstream stream(maker.folder() / file, std::ios::binary);
  stream << std::string(static_cast<std::size_t>(offset), '#') << tensor.raw_data();
  tensor.clear_raw_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair<std::string, std::string>("location", file),
                                   std::pair<std::string, std::string>("offset", std::to_string(offset))}) {
    ::onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

// Everything that is read back, by initializer.
std::map<std::string, std::vector<float>> all_values(const std::filesystem::path& path) {
  ::onnx::ModelProto proto;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(proto.ParseFromIstream(&file));
  std::map<std::string, std::vector<float>> result;
  for (const ::onnx::TensorProto& tensor : proto.graph().initializer()) {
    std::vector<float> values(tensor.raw_data().size() / sizeof(float));
    const auto bytes = std::as_writable_bytes(std::span(values));
    std::ranges::copy(std::as_bytes(std::span(tensor.raw_data())).first(bytes.size()), bytes.begin());
    result[tensor.name()] = values;
  }
  return result;
}

onnx::ReadParameter values_of(const onnx::OnnxModel& model) {
  return [&model](const std::string& name) -> Result<std::vector<float>> { return given(model, name); };
}

TEST(OnnxData, ReadsHalfDoubleAndTypedFields) {
  ModelMaker maker;
  make_image_classifier(maker);
  const std::vector<float> values = {0.5F, -1.25F, 3, 0.0009765625F, 1, 2, 3, 4, 5, 65504};
  ::onnx::TensorProto& half = initializer(maker, "fc.bias");
  half.clear_raw_data();
  half.set_data_type(::onnx::TensorProto::FLOAT16);
  for (const float value : values) half.add_int32_data(onnx::half_of_float(value));
  ::onnx::TensorProto& wide = initializer(maker, "bn.weight");
  wide.clear_raw_data();
  wide.set_data_type(::onnx::TensorProto::DOUBLE);
  for (const double value : {0.1, 0.2, 0.3, 0.4}) wide.add_double_data(value);
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(given(*model, "fc.bias"), values);
  EXPECT_EQ(given(*model, "bn.scale_shift")[2], 0.3F);
}

TEST(OnnxData, RoundsHalfPrecisionBothWays) {
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(onnx::half_of_float(onnx::float_of_half(half)), half);
  }
  EXPECT_EQ(onnx::half_of_float(1e6F), 0x7c00);
  EXPECT_EQ(onnx::half_of_float(1 + 1 / 2048.0F), onnx::half_of_float(1));  // a tie goes to even
  EXPECT_EQ(onnx::half_of_float(1e-9F), 0);
}

TEST(OnnxData, ReadsExternalDataBesideTheModel) {
  ModelMaker maker;
  make_image_classifier(maker);
  const std::vector<float> values = maker.values("fc.weight");
  store_outside(maker, "fc.weight", "weights.bin", 16);
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(given(*model, "fc.weight"), values);
}

TEST(OnnxData, InputsThatAreGivenValuesAreWeightsBesideTheModel) {
  ModelMaker maker;
  maker.input("x", {2, 200});
  maker.input("w", {200, 100});
  maker.input("v", {100, 200});
  maker.input("b", {200});
  maker.node("MatMul", {"x", "w"}, {"h"});
  maker.node("Gemm", {"h", "v", "b"}, {"logits"});
  maker.output("logits");
  const std::filesystem::path path = maker.write();
  const std::filesystem::path weights = maker.folder() / "w";
  const std::vector<float> w(200 * 100, 0.25F);
  const std::vector<float> v(100 * 200, 0.5F);
  const std::vector<float> b(200, -3.0F);
  onnx::InputValues values{{"w", std::as_bytes(std::span(w))}, {"b", std::as_bytes(std::span(b))}, {"unused", {}}};
  EXPECT_EQ(onnx::give_inputs_values(path, weights, values, {"x"}).error().message,
            "input 'v' has no value, and is not fed");
  values["v"] = std::as_bytes(std::span(b));
  EXPECT_EQ(onnx::give_inputs_values(path, weights, values, {"x"}).error().code, ErrorCode::kMismatch);
  values["v"] = std::as_bytes(std::span(v));
  ASSERT_TRUE(onnx::give_inputs_values(path, weights, values, {"x"}).ok());
  EXPECT_EQ(std::filesystem::file_size(weights), (w.size() + v.size()) * sizeof(float));
  const auto model = onnx::import_onnx(path, {});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(given(*model, "w"), w);
  EXPECT_EQ(given(*model, "v"), v);
  EXPECT_EQ(given(*model, "b"), b);
}

TEST(OnnxData, ExportsUnchangedWeightsBitForBit) {
  for (const auto make : {make_image_classifier, make_language_model, make_lstm}) {
    ModelMaker maker;
    make(maker);
    const auto model = maker.import();
    ASSERT_TRUE(model.ok()) << model.error().message;
    const std::filesystem::path target = maker.folder() / "copy.onnx";
    const Status done = onnx::export_onnx(maker.write(), target, values_of(*model));
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(all_values(target), all_values(maker.write()));
  }
}

TEST(OnnxData, ExportsTrainedWeightsWhereTheyCameFrom) {
  ModelMaker maker;
  make_lstm(maker);
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  const onnx::ReadParameter trained = [&](const std::string& name) -> Result<std::vector<float>> {
    std::vector<float> values = given(*model, name);
    for (float& value : values) value += 1;
    return values;
  };
  const std::filesystem::path target = maker.folder() / "copy.onnx";
  ASSERT_TRUE(onnx::export_onnx(maker.write(), target, trained).ok());
  const auto before = all_values(maker.write());
  const auto after = all_values(target);
  for (const char* name : {"table", "w", "r", "b", "out"}) {
    for (std::size_t i = 0; i < before.at(name).size(); ++i) {
      ASSERT_FLOAT_EQ(after.at(name)[i], before.at(name)[i] + 1) << name << " " << i;
    }
  }
}

TEST(OnnxData, ExportsModelsWithExternalDataAsOneFile) {
  ModelMaker maker;
  make_image_classifier(maker);
  const std::vector<float> values = maker.values("fc.weight");
  store_outside(maker, "fc.weight", "weights.bin", 0);
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::filesystem::path target = maker.folder() / "copy.onnx";
  ASSERT_TRUE(onnx::export_onnx(maker.write(), target, values_of(*model)).ok());
  EXPECT_EQ(all_values(target).at("fc.weight"), values);
}

// As a model over protobuf's 2 GiB is: weights beside it, embedded ones and those that lay outside.
TEST(OnnxData, ExportsWhatIsTooMuchForOneFileAsTwo) {
  ModelMaker maker;
  const std::vector<float> w(200 * 100, 0.25F), v(100 * 200, 0.5F), b(200, -3.0F);
  maker.input("x", {2, 200});
  maker.weights("w", {200, 100}, w);
  maker.weights("v", {100, 200}, v);
  maker.weights("b", {200}, b);
  maker.node("MatMul", {"x", "w"}, {"h"});
  maker.node("Gemm", {"h", "v", "b"}, {"logits"});
  maker.output("logits");
  store_outside(maker, "v", "given.bin", 0);
  const auto model = maker.import();
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::filesystem::path target = maker.folder() / "copy.onnx";
  constexpr Bytes kMost = 100 << 10;  // two weights of 78 KiB
  ASSERT_TRUE(onnx::try_export(maker.write(), target, kMost).ok());
  EXPECT_FALSE(std::filesystem::exists(target)) << "only tried";
  ASSERT_TRUE(onnx::export_onnx(maker.write(), target, values_of(*model), {}, kMost).ok());
  EXPECT_EQ(std::filesystem::file_size(target.string() + ".weights"), (w.size() + v.size()) * sizeof(float));
  EXPECT_LT(std::filesystem::file_size(target), 4 << 10);
  const auto copy = onnx::import_onnx(target, {});
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  EXPECT_EQ(given(*copy, "w"), w);
  EXPECT_EQ(given(*copy, "v"), v);
  EXPECT_EQ(given(*copy, "b"), b);
}

TEST(OnnxData, ACopyThatCannotBeWrittenIsRefusedBeforehand) {
  ModelMaker maker;
  make_image_classifier(maker);
  for (const Bytes most : {onnx::kMostInOneModel, Bytes{1}}) {
    const Status tried = onnx::try_export(maker.write(), maker.folder() / "missing" / "copy.onnx", most);
    ASSERT_FALSE(tried.ok());
    EXPECT_EQ(tried.error().code, ErrorCode::kIo);
  }
}

}  // namespace
}  // namespace sluice::tests
