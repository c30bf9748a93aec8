// Files that cannot be imported: each with an error that says what is wrong where, and no crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/onnx/model_maker.hpp"

namespace sluice::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The error of an import that must fail.
std::string error_of(const Result<onnx::OnnxModel>& model) { return model.ok() ? "imported" : model.error().message; }

::onnx::TensorProto& first_initializer(ModelMaker& maker) {
  return *maker.proto().mutable_graph()->mutable_initializer(0);
}

::onnx::NodeProto& node_at(ModelMaker& maker, int index) { return *maker.proto().mutable_graph()->mutable_node(index); }

void add_entry(::onnx::TensorProto& tensor, const std::string& key, const std::string& value) {
  ::onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

// The first initializer as external data.
void make_external(ModelMaker& maker, const std::string& location, const std::string& length) {
  ::onnx::TensorProto& tensor = first_initializer(maker);
  tensor.clear_raw_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  add_entry(tensor, "location", location);
  add_entry(tensor, "length", length);
}

TEST(OnnxBadInput, FilesThatAreNoModels) {
  ModelMaker maker;
  EXPECT_THAT(error_of(onnx::import_onnx(maker.folder() / "missing.onnx", {})), HasSubstr("no such file"));
  const std::filesystem::path path = maker.folder() / "other.onnx";
  std::ofstream(path) << "";
  EXPECT_THAT(error_of(onnx::import_onnx(path, {})), HasSubstr("empty"));
  std::ofstream(path) << "This is a text, not a model, whatever its name says.";
  EXPECT_THAT(error_of(onnx::import_onnx(path, {})), AllOf(HasSubstr("other.onnx"), HasSubstr("not an ONNX model")));
}

TEST(OnnxBadInput, EveryTruncationIsAnError) {
  ModelMaker maker;
  make_image_classifier(maker);
  const std::string whole = maker.proto().SerializeAsString();
  const std::filesystem::path path = maker.folder() / "cut.onnx";
  for (std::size_t size = 0; size + 1 < whole.size(); size += 7) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    ASSERT_FALSE(onnx::import_onnx(path, {}).ok()) << size;
  }
}

TEST(OnnxBadInput, OpsetsThatAreNotKnown) {
  for (const std::int64_t opset : {1, 8, 23, 1000}) {
    ModelMaker maker(opset);
    make_image_classifier(maker);
    EXPECT_THAT(error_of(maker.import()), HasSubstr("uses opset " + std::to_string(opset)));
  }
}

TEST(OnnxBadInput, ListsEveryUnsupportedNodeAtOnce) {
  ModelMaker maker;
  make_image_classifier(maker);
  node_at(maker, 2).set_op_type("Frobnicate");        // the ReLU
  node_at(maker, 4).set_domain("com.example");        // the Flatten
  set(node_at(maker, 0), "colour", std::int64_t{3});  // the Conv
  EXPECT_THAT(error_of(maker.import()),
              AllOf(HasSubstr("3 nodes"), HasSubstr("'relu' (Frobnicate)"), HasSubstr("'flat' (com.example.Flatten)"),
                    HasSubstr("'conv' (Conv): attribute 'colour' is not known")));
}

TEST(OnnxBadInput, LeavesOutWhatTheLossDoesNotNeed) {
  ModelMaker maker;
  make_image_classifier(maker);
  maker.node("Frobnicate", {"relu"}, {"other"});
  maker.output("other");
  EXPECT_TRUE(maker.import().ok());
}

TEST(OnnxBadInput, ShapesThatDoNotFit) {
  ModelMaker maker;
  make_image_classifier(maker);
  maker.proto()
      .mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(5);
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("'conv' (Conv)"), HasSubstr("[4, 5, 3, 3]")));
}

TEST(OnnxBadInput, Cycles) {
  ModelMaker maker;
  make_image_classifier(maker);
  node_at(maker, 0).set_input(0, "relu");
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("cycle"), HasSubstr("'conv'")));
}

TEST(OnnxBadInput, ValuesThatNobodyMakesOrTwoMake) {
  ModelMaker maker;
  make_image_classifier(maker);
  node_at(maker, 2).set_input(0, "nothing");
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("'relu'"), HasSubstr("'nothing'")));
  maker.node("Relu", {"bn"}, {"relu"}, "second");
  EXPECT_THAT(error_of(maker.import()), HasSubstr("made twice"));
}

TEST(OnnxBadInput, ExtentsOfZero) {
  ModelMaker maker;
  make_image_classifier(maker);
  maker.proto()
      .mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(2)
      ->set_dim_value(0);
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("'images'"), HasSubstr("at least 1")));
  ModelMaker other;
  make_image_classifier(other);
  first_initializer(other).set_dims(0, 0);
  first_initializer(other).clear_raw_data();
  EXPECT_THAT(error_of(other.import()), HasSubstr("'conv' (Conv)"));
}

TEST(OnnxBadInput, LyingLengths) {
  ModelMaker maker;
  make_image_classifier(maker);
  first_initializer(maker).set_dims(0, 3LL << 30);
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("'conv.weight'"), HasSubstr("but holds")));
  first_initializer(maker).set_dims(1, 3LL << 40);
  EXPECT_THAT(error_of(maker.import()), HasSubstr("impossible shape"));
  // A length of 3 GB within a small file: protobuf's own field lengths.
  std::string bytes = "\x3a";
  for (const unsigned char byte : {0x80, 0x80, 0x80, 0x80, 0x0c}) bytes.push_back(static_cast<char>(byte));
  const std::filesystem::path path = maker.folder() / "lie.onnx";
  std::ofstream(path, std::ios::binary) << bytes << std::string(1000, 'x');
  EXPECT_THAT(error_of(onnx::import_onnx(path, {})), HasSubstr("not an ONNX model"));
}

TEST(OnnxBadInput, ConstantsLargerThanTheMachine) {
  ModelMaker maker;
  make_image_classifier(maker);
  maker.integers("huge", {1LL << 20, 1LL << 20});
  maker.node("ConstantOfShape", {"huge"}, {"ones"});
  node_at(maker, 4).set_op_type("Add");
  node_at(maker, 4).add_input("ones");
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("'ones'"), HasSubstr("impossible")));
}

// Found by tests/fuzz: the sum broadcast to more elements than 64 bits count.
TEST(OnnxBadInput, SumsLargerThanTheMachine) {
  ModelMaker maker;
  maker.input("x", {1LL << 34, 4});
  maker.weights("w", {4, 1});
  maker.integers("rows", {1, 1LL << 34});
  set(maker.node("ReduceMean", {"x"}, {"mean"}), "axes", std::vector<std::int64_t>{1});
  maker.node("Reshape", {"mean", "rows"}, {"row"});
  set(maker.node("Gemm", {"x", "w", "row"}, {"logits"}), "beta", 0.5F);
  maker.output("logits");
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("'logits' (Gemm)"), HasSubstr("larger than any machine")));
}

TEST(OnnxBadInput, ExternalDataThatIsNotThere) {
  ModelMaker maker;
  make_image_classifier(maker);
  make_external(maker, "weights.bin", "432");
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("'conv.weight'"), HasSubstr("missing")));
  std::ofstream(maker.folder() / "weights.bin") << "short";
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("needs bytes 0 to 432"), HasSubstr("which has 5")));
}

TEST(OnnxBadInput, ExternalDataThatLies) {
  for (const char* length : {"3000000000", "-1", "", "12x"}) {
    ModelMaker maker;
    make_image_classifier(maker);
    std::ofstream(maker.folder() / "weights.bin") << std::string(500, 'x');
    make_external(maker, "weights.bin", length);
    EXPECT_THAT(error_of(maker.import()), HasSubstr("its external data")) << length;
  }
}

TEST(OnnxBadInput, ExternalDataOutsideTheModelsFolder) {
  for (const char* location : {"/etc/hostname", "../weights.bin", "a/../../weights.bin", ""}) {
    ModelMaker maker;
    make_image_classifier(maker);
    make_external(maker, location, "432");
    EXPECT_THAT(error_of(maker.import()), HasSubstr("outside the model's folder")) << location;
  }
}

// As hubs keep what they have fetched: names in one folder, links to the files in another.
TEST(OnnxBadInput, ExternalDataThatAreLinks) {
  namespace fs = std::filesystem;
  ModelMaker maker;
  make_image_classifier(maker);
  make_external(maker, "weights.bin", "432");
  const fs::path blobs = maker.folder() / "blobs", names = maker.folder() / "names", others = maker.folder() / "others";
  for (const fs::path& folder : {blobs, names, others}) fs::create_directory(folder);
  fs::copy_file(maker.write(), blobs / "1");
  for (const fs::path& folder : {blobs, others}) std::ofstream(folder / "2") << std::string(432, '\0');
  fs::create_symlink("../blobs/1", names / "model.onnx");
  fs::create_symlink("../blobs/2", names / "weights.bin");
  const auto linked = onnx::import_onnx(names / "model.onnx", {});
  EXPECT_TRUE(linked.ok()) << linked.error().message;
  const fs::path alone = maker.folder() / "alone";
  fs::create_directory(alone);
  fs::copy_file(blobs / "1", alone / "model.onnx");
  fs::create_symlink("../blobs/2", alone / "weights.bin");  // the model is no link: only its own folder's
  EXPECT_THAT(onnx::import_onnx(alone / "model.onnx", {}).error().message, HasSubstr("outside the model's folder"));
  fs::remove(names / "weights.bin");
  fs::create_symlink("../others/2", names / "weights.bin");
  EXPECT_THAT(onnx::import_onnx(names / "model.onnx", {}).error().message, HasSubstr("outside the model's folder"));
}

TEST(OnnxBadInput, TypesThatAreNotRead) {
  ModelMaker maker;
  make_image_classifier(maker);
  first_initializer(maker).set_data_type(::onnx::TensorProto::COMPLEX64);
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("'conv.weight'"), HasSubstr("COMPLEX64")));
}

TEST(OnnxBadInput, AnLstmThatRunsSideways) {
  ModelMaker maker;
  make_lstm(maker);
  set(node_at(maker, 1), "direction", std::string("sideways"));
  EXPECT_THAT(error_of(maker.import()), AllOf(HasSubstr("'lstm' (LSTM)"), HasSubstr("direction")));
}

TEST(OnnxBadInput, ExportOfAnotherModelsParameters) {
  ModelMaker maker;
  make_image_classifier(maker);
  const onnx::ReadParameter short_one = [](const std::string&) -> Result<std::vector<float>> {
    return std::vector<float>(1);
  };
  const std::filesystem::path target = maker.folder() / "copy.onnx";
  EXPECT_FALSE(onnx::export_onnx(maker.write(), target, short_one).ok());
  EXPECT_FALSE(std::filesystem::exists(target));
}

}  // namespace
}  // namespace sluice::tests
