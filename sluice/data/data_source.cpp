#include "sluice/data/data_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sluice/data/cifar.hpp"
#include "sluice/data/mnist.hpp"
#include "sluice/data/synthetic_images.hpp"
#include "sluice/data/synthetic_language.hpp"
#include "sluice/data/text_corpus.hpp"

namespace sluice::data {
namespace {

constexpr std::int64_t kClassesWithoutLabels = 10;  // kinds of synthetic images where the model asks for no labels

struct Wanted {
  std::optional<ImageShape> images;
  std::int64_t classes = 0;     // 0: no labels
  std::int64_t sequence = 0;    // 0: no tokens
  std::int64_t vocabulary = 0;  // of tokens that the data may have: without the mask token
};

Wanted wanted_by(const std::vector<InputTensor>& tensors) {
  Wanted wanted;
  if (const InputTensor* images = find_input(tensors, graph::Content::kImages)) {
    SLUICE_CHECK(images->shape.size() == 4, "images are [N, C, H, W]");
    wanted.images = ImageShape{images->shape[1], images->shape[2], images->shape[3]};
  }
  if (const InputTensor* labels = find_input(tensors, graph::Content::kLabels)) wanted.classes = labels->bound;
  const bool masks =
      find_input(tensors, graph::Content::kMaskedTokens) || find_input(tensors, graph::Content::kHiddenTokens);
  for (const graph::Content content : {graph::Content::kTokens, graph::Content::kNextTokens,
                                       graph::Content::kMaskedTokens, graph::Content::kHiddenTokens}) {
    const InputTensor* tokens = find_input(tensors, content);
    if (tokens == nullptr) continue;
    wanted.sequence = tokens->sample_elements();
    wanted.vocabulary = std::max(wanted.vocabulary, tokens->bound);
  }
  if (masks) --wanted.vocabulary;
  return wanted;
}

Error does_not_fit(std::string_view data, const std::vector<InputTensor>& tensors, std::string_view what_to_do) {
  return {ErrorCode::kBadInput,
          fmt::format("{}, but the model takes {}; {}", data, describe_inputs(tensors), what_to_do)};
}

Status check_images(const Wanted& wanted, const std::vector<InputTensor>& tensors, std::string_view data, int classes,
                    std::int64_t image_size) {
  const bool fits = wanted.images && wanted.images->channels == 3 && wanted.images->height == image_size &&
                    wanted.images->width == image_size;
  if (fits && (wanted.classes == 0 || wanted.classes >= classes)) return {};
  return does_not_fit(fmt::format("{} has 3-channel {}-pixel images of {} classes", data, image_size, classes), tensors,
                      fmt::format("set --image-size {} --classes {}, or take a model of images", image_size, classes));
}

Result<std::unique_ptr<ImageSet>> open_cifar(std::string_view directory, int classes, const Wanted& wanted,
                                             const std::vector<InputTensor>& tensors, Split split) {
  SLUICE_RETURN_IF_ERROR(check_images(wanted, tensors, fmt::format("CIFAR-{}", classes), classes, CifarImages::kSize));
  return CifarImages::open(directory, classes, split);
}

Result<std::unique_ptr<ImageSet>> open_mnist(std::string_view directory, const Wanted& wanted,
                                             const std::vector<InputTensor>& tensors, Split split) {
  const bool images = wanted.images && (wanted.images->channels == 1 || wanted.images->channels == 3) &&
                      (wanted.images->height == 28 || wanted.images->height == 32) &&
                      wanted.images->width == wanted.images->height;
  if (!images || (wanted.classes != 0 && wanted.classes < 10)) {
    return does_not_fit("MNIST has 28-pixel images (32 with a border) of 10 classes", tensors,
                        "set --image-size 32 --classes 10, or take a model of images");
  }
  return MnistImages::open(directory, *wanted.images, split);
}

Result<std::unique_ptr<TokenSet>> open_text(std::string_view path, const Wanted& wanted,
                                            const std::vector<InputTensor>& tensors, Split split) {
  if (wanted.sequence == 0 || wanted.vocabulary < TextCorpus::kVocabulary) {
    const bool masks = find_input(tensors, graph::Content::kMaskedTokens) != nullptr;
    return does_not_fit("text has 256 kinds of bytes", tensors,
                        fmt::format("take a language model and set --classes {} or more (its vocabulary{})",
                                    TextCorpus::kVocabulary + (masks ? 1 : 0), masks ? ", mask token included" : ""));
  }
  return TextCorpus::open(path, wanted.sequence, split);
}

struct Sets {
  std::unique_ptr<ImageSet> images;
  std::unique_ptr<TokenSet> tokens;
};

Sets synthetic_sets(const Wanted& wanted, std::uint64_t seed) {
  Sets sets;
  if (wanted.images) {
    const std::int64_t classes = wanted.classes > 0 ? wanted.classes : kClassesWithoutLabels;
    sets.images = std::make_unique<SyntheticImages>(*wanted.images, classes, seed);
  }
  if (wanted.sequence > 0) {
    sets.tokens = std::make_unique<SyntheticLanguage>(std::max<std::int64_t>(1, wanted.vocabulary), seed);
  }
  return sets;
}

}  // namespace

std::string_view data_kind(std::string_view text) { return text.substr(0, text.find(':')); }

bool has_validation_split(std::string_view text) { return data_kind(text) != "synthetic"; }

Result<std::unique_ptr<BatchSource>> open_data_source(std::string_view text, const std::vector<InputTensor>& tensors,
                                                      std::uint64_t seed, Split split) {
  const Wanted wanted = wanted_by(tensors);
  const std::string_view kind = data_kind(text);
  const std::string_view place = kind.size() < text.size() ? text.substr(kind.size() + 1) : std::string_view{};
  Sets sets = synthetic_sets(wanted, seed);
  if (kind == "cifar10" && !place.empty()) {
    SLUICE_ASSIGN(sets.images, open_cifar(place, 10, wanted, tensors, split));
  } else if (kind == "cifar100" && !place.empty()) {
    SLUICE_ASSIGN(sets.images, open_cifar(place, 100, wanted, tensors, split));
  } else if (kind == "mnist" && !place.empty()) {
    SLUICE_ASSIGN(sets.images, open_mnist(place, wanted, tensors, split));
  } else if (kind == "tokens" && !place.empty()) {
    SLUICE_ASSIGN(sets.tokens, open_text(place, wanted, tensors, split));
  } else if (text != "synthetic") {
    return Error{ErrorCode::kBadInput, fmt::format("unknown data '{}'; write synthetic, cifar10:DIRECTORY, "
                                                   "cifar100:DIRECTORY, mnist:DIRECTORY or tokens:FILE_OR_FOLDER",
                                                   text)};
  }
  const SampleOrder order = split == Split::kTraining ? SampleOrder::kShuffled : SampleOrder::kSequential;
  return std::make_unique<BatchSource>(tensors, std::move(sets.images), std::move(sets.tokens), order, seed);
}

}  // namespace sluice::data
