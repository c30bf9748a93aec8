#include "tests/e2e/tiny_onnx.hpp"

#include <cstdint>
#include <fstream>
#include <string_view>

#include "sluice/base/random.hpp"

namespace sluice::tests {
namespace {

// Protocol buffers, as far as ONNX needs them: fields of varints and of bytes.
class Message {
 public:
  Message& number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  Message& bytes(int field, std::string_view value) {
    varint((static_cast<std::uint64_t>(field) << 3) | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return bytes(field, value.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

Message tensor(const std::string& name, const std::vector<std::uint64_t>& shape, const std::vector<float>& values) {
  Message message;
  for (const std::uint64_t extent : shape) message.number(1, extent);
  message.number(2, 1).bytes(8, name);  // float
  const std::string_view raw(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return message.bytes(9, raw);
}

Message value(const std::string& name, const std::vector<std::uint64_t>& shape) {
  Message extents;
  for (const std::uint64_t extent : shape) {
    extents.message(1, extent > 0 ? Message().number(1, extent) : Message().bytes(2, "batch"));
  }
  return Message().bytes(1, name).message(2, Message().message(1, Message().number(1, 1).message(2, extents)));
}

Message integers(const std::string& name, const std::vector<std::uint64_t>& numbers) {
  Message message;
  message.bytes(1, name);
  for (const std::uint64_t each : numbers) message.number(8, each);
  return message.number(20, 7);
}

Message integer(const std::string& name, std::uint64_t number) {
  return Message().bytes(1, name).number(3, number).number(20, 2);
}

Message node(const std::string& kind, const std::vector<std::string>& inputs, const std::string& output,
             const std::vector<Message>& attributes = {}) {
  Message message;
  for (const std::string& input : inputs) message.bytes(1, input);
  message.bytes(2, output).bytes(3, kind + "_0").bytes(4, kind);
  for (const Message& attribute : attributes) message.message(5, attribute);
  return message;
}

std::vector<float> random_values(std::size_t count, const char* name, float scale) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = scale * random_normal(1, stream_of(name), i);
  return values;
}

}  // namespace

TinyOnnx tiny_onnx_values() {
  return {random_values(std::size_t{8} * 3 * 9, "conv.weight", 0.2F), random_values(8, "conv.bias", 0.1F),
          random_values(std::size_t{4} * 8, "fc.weight", 0.3F), random_values(4, "fc.bias", 0.1F)};
}

void write_tiny_onnx(const std::string& path, const TinyOnnx& values, const TinyNames& names) {
  Message graph;
  graph
      .message(1, node("Conv", {"images", names.conv_weight, "conv.bias"}, "c",
                       {integers("kernel_shape", {3, 3}), integers("pads", {1, 1, 1, 1}), integers("strides", {1, 1})}))
      .message(1, node("Relu", {"c"}, "r"))
      .message(1, node("GlobalAveragePool", {"r"}, "p"))
      .message(1, node("Flatten", {"p"}, "f", {integer("axis", 1)}))
      .message(1, node("Gemm", {"f", names.fc_weight, "fc.bias"}, "logits", {integer("transB", 1)}))
      .bytes(2, "tiny")
      .message(5, tensor(names.conv_weight, {8, 3, 3, 3}, values.conv_weight))
      .message(5, tensor("conv.bias", {8}, values.conv_bias))
      .message(5, tensor(names.fc_weight, {4, 8}, values.fc_weight))
      .message(5, tensor("fc.bias", {4}, values.fc_bias))
      .message(11, value("images", {0, 3, 8, 8}))
      .message(12, value("logits", {0, 4}));
  const Message model = Message().number(1, 7).bytes(2, "test").message(7, graph).message(8, Message().number(2, 13));
  std::ofstream(path, std::ios::binary) << model.text();
}

}  // namespace sluice::tests
