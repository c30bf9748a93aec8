#include "sluice/data/data_source.hpp"
#include "tests/fuzz/fuzz_targets.hpp"
#include "tests/fuzz/input_file.hpp"

namespace sluice::tests {
namespace {

const std::vector<data::InputTensor>& image_tensors() {
  static const std::vector<data::InputTensor> tensors = {{"images", graph::Content::kImages, {2, 1, 28, 28}, 0},
                                                         {"labels", graph::Content::kLabels, {2}, 10}};
  return tensors;
}

const std::vector<data::InputTensor>& text_tensors() {
  static const std::vector<data::InputTensor> tensors = {{"tokens", graph::Content::kTokens, {2, 5}, 256},
                                                         {"labels", graph::Content::kNextTokens, {2, 5}, 256}};
  return tensors;
}

void fill(const std::string& what, const std::vector<data::InputTensor>& tensors) {
  const auto source = data::open_data_source(what, tensors, 7);
  if (!source.ok()) return;
  std::vector<std::vector<std::byte>> memory;
  for (const data::InputTensor& tensor : tensors) memory.emplace_back(static_cast<std::size_t>(tensor.elements()) * 4);
  const std::vector<std::span<std::byte>> spans(memory.begin(), memory.end());
  static_cast<void>((*source)->fill(0, spans));
}

}  // namespace

// The first byte says how much of the rest is images; what follows is labels.
void fuzz_data(std::string_view input) {
  const std::size_t cut = input.empty() ? 0 : static_cast<unsigned char>(input.front()) * input.size() / 255;
  const std::string_view rest = input.empty() ? input : input.substr(1);
  input_file(rest.substr(0, cut), "train-images-idx3-ubyte");
  input_file(rest.substr(std::min(cut, rest.size())), "train-labels-idx1-ubyte");
  fill("mnist:" + input_folder().string(), image_tensors());
  fill("tokens:" + input_file(input, "text").string(), text_tensors());
}

}  // namespace sluice::tests
