#include "sluice/onnx/model_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "sluice/onnx/model/element_type.hpp"

namespace sluice::onnx {
namespace {

constexpr std::int64_t kDefaultSequence = 128;
constexpr std::int64_t kDefaultImage = 224;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool mentions(const std::string& name, std::initializer_list<const char*> words) {
  const std::string text = lower(name);
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

// An extent of an input: a number, or a name for one.
struct Extent {
  std::int64_t value = 0;  // 0: a name
  std::string name;
  bool is_open() const { return value == 0; }
  bool is_sequence() const {
    const std::string text = lower(name);
    return is_open() && (mentions(name, {"seq", "len", "time"}) || text == "s" || text == "t" || text == "l");
  }
};

struct Declared {
  std::string name;
  int type = 0;
  std::vector<Extent> extents;
  bool is_integer() const { return is_whole_type(type); }
};

Result<Declared> declared(const ::onnx::ValueInfoProto& info) {
  Declared result;
  result.name = info.name();
  if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) {
    return bad_input(fmt::format("input '{}' is not a tensor with a shape", info.name()));
  }
  const ::onnx::TypeProto_Tensor& tensor = info.type().tensor_type();
  result.type = tensor.elem_type();
  if (!result.is_integer() && !is_floating_type(result.type)) {
    return bad_input(fmt::format("input '{}' has the type {}; Sluice reads floating-point numbers, integers and BOOL",
                                 info.name(), result.type));
  }
  for (const ::onnx::TensorShapeProto_Dimension& dimension : tensor.shape().dim()) {
    Extent extent;
    extent.name = dimension.dim_param();
    if (dimension.has_dim_value()) {
      extent.value = dimension.dim_value();
      if (extent.value == -1) extent.value = 0;  // some exporters write -1 for an open extent
      if (extent.value < 0 || dimension.dim_value() == 0) {
        return bad_input(
            fmt::format("input '{}' has an extent of {}; it must be at least 1", info.name(), extent.value));
      }
    }
    result.extents.push_back(extent);
  }
  return result;
}

class InputFinder {
 public:
  InputFinder(const Network& network, const Initializers& initializers, const OnnxOptions& options)
      : network_(network), initializers_(initializers), options_(options) {}

  Result<ModelInputs> find(std::vector<Declared> all) {
    // Token ids before masks, segments and positions; everything else in the file's order.
    const auto is_data = [](const Declared& input) { return !mentions(input.name, {"mask", "type", "seg", "pos"}); };
    const auto first = std::find_if(all.begin(), all.end(), is_data);
    if (all.empty()) return bad_input("the model has no inputs");
    std::rotate(all.begin(), first == all.end() ? all.begin() : first, first == all.end() ? all.begin() : first + 1);
    if (options_.given) return find_given(all);
    SLUICE_RETURN_IF_ERROR(all.front().is_integer() ? add_tokens(all.front()) : add_image(all.front()));
    for (std::size_t i = 1; i < all.size(); ++i) SLUICE_RETURN_IF_ERROR(add_other(all[i]));
    return std::move(result_);
  }

 private:
  Result<ModelInputs> find_given(const std::vector<Declared>& all) {
    for (const Declared& input : all) {
      const bool first = &input == &all.front();
      if (first && input.extents.empty()) return bad_input(fmt::format("input '{}' is a single number", input.name));
      if (first) SLUICE_RETURN_IF_ERROR(set_batch(input.extents[0]));
      SLUICE_RETURN_IF_ERROR(add_given(input, first));
    }
    return std::move(result_);
  }

  Status add_given(const Declared& input, bool first) {
    ModelInput made;
    made.name = input.name;
    made.content = input.is_integer() ? graph::Content::kIntegers : graph::Content::kNumbers;
    for (const Extent& extent : input.extents) {
      made.shape.push_back(extent.is_open() ? open_extent(extent) : extent.value);
    }
    if (made.shape.empty()) made.shape = {1};
    if (const Result<std::int64_t> rows = vocabulary(input.name); input.is_integer() && rows.ok()) made.bound = *rows;
    if (first && made.bound > 0 && made.shape.size() == 2) made.content = graph::Content::kTokens;
    return add(std::move(made));
  }

  Status set_batch(const Extent& extent) {
    result_.file_batch = extent.value;
    result_.batch = options_.batch > 0 ? options_.batch : std::max<std::int64_t>(extent.value, 1);
    if (extent.is_open() && !extent.name.empty()) named_[extent.name] = result_.batch;
    return {};
  }

  Result<std::int64_t> sequence(const Declared& input, const Extent& extent) {
    if (!extent.is_open()) {
      if (options_.sequence > 0 && options_.sequence != extent.value) {
        return bad_input(fmt::format("input '{}' has {} tokens in the file; {} were asked for", input.name,
                                     extent.value, options_.sequence));
      }
      return extent.value;
    }
    const std::int64_t length = options_.sequence > 0 ? options_.sequence : kDefaultSequence;
    if (!extent.name.empty()) named_[extent.name] = length;
    return length;
  }

  Status add_tokens(const Declared& input) {
    if (input.extents.size() != 2)
      return bad_input(fmt::format("input '{}' must be tokens [batch, sequence]", input.name));
    const auto& [first, second] = std::pair(input.extents[0], input.extents[1]);
    const bool first_is_sequence = first.is_sequence() && !second.is_sequence();
    const bool only_second_open = !first.is_open() && second.is_open() && !second.is_sequence();
    ModelInput made;
    made.name = input.name;
    made.content = graph::Content::kTokens;
    made.time_major = first_is_sequence || only_second_open;
    SLUICE_RETURN_IF_ERROR(set_batch(made.time_major ? second : first));
    SLUICE_ASSIGN(const std::int64_t length, sequence(input, made.time_major ? first : second));
    made.shape = made.time_major ? graph::Shape{length, result_.batch} : graph::Shape{result_.batch, length};
    SLUICE_ASSIGN(made.bound, vocabulary(input.name));
    return add(std::move(made));
  }

  Status add_image(const Declared& input) {
    if (input.extents.size() < 2 || input.extents.size() > 4) {
      return bad_input(fmt::format("input '{}' has {} dimensions; images have 4, series 3, rows of features 2",
                                   input.name, input.extents.size()));
    }
    ModelInput made;
    made.name = input.name;
    made.content = graph::Content::kImages;
    SLUICE_RETURN_IF_ERROR(set_batch(input.extents[0]));
    made.shape = {result_.batch};
    for (std::size_t d = 1; d < input.extents.size(); ++d) {
      const bool open = input.extents[d].is_open();
      made.shape.push_back(open ? (d == 1 ? 3 : kDefaultImage) : input.extents[d].value);
      if (open)
        result_.notes.push_back(fmt::format("input '{}': took {} for axis {}", input.name, made.shape.back(), d));
    }
    return add(std::move(made));
  }

  // Inputs besides the data: of the tokens' shape, or states that start at zero.
  Status add_other(const Declared& input) {
    const ModelInput data = result_.data();
    ModelInput made;
    made.name = input.name;
    if (input.is_integer() && data.content == graph::Content::kTokens) {
      made.shape = data.shape;
      made.time_major = data.time_major;
      if (!checked_count(made.shape, kMostArrayElements)) {
        return bad_input(fmt::format("input '{}' is too large", input.name));
      }
      const bool positions = mentions(input.name, {"pos"});
      if (mentions(input.name, {"type", "seg"})) {
        made.content = graph::Content::kSegments;
        made.bound = 2;
      } else if (mentions(input.name, {"mask"})) {
        made.constant = filled(made.shape, std::int64_t{1});
        note(input.name, "all ones: every token is attended to");
      } else if (positions) {
        made.constant =
            filled(made.time_major ? graph::Shape{made.shape[0], 1} : graph::Shape{1, made.shape[1]}, std::int64_t{0});
        std::iota(made.constant.ints.begin(), made.constant.ints.end(), 0);
        note(input.name, "0, 1, 2, ...");
      } else {
        return bad_input(
            fmt::format("input '{}' is neither tokens, segments, positions nor a mask, by its name", input.name));
      }
      return add(std::move(made));
    }
    if (input.is_integer() || input.extents.size() > 3) {
      return bad_input(
          fmt::format("input '{}' is a second source of data; Sluice fills one, '{}'", input.name, data.name));
    }
    for (const Extent& extent : input.extents)
      made.shape.push_back(extent.is_open() ? open_extent(extent) : extent.value);
    if (!checked_count(made.shape, kMostArrayElements))
      return bad_input(fmt::format("input '{}' is too large", input.name));
    const bool mask = mentions(input.name, {"mask"});
    made.constant = filled(made.shape, mask ? 1.0F : 0.0F);
    note(input.name, mask ? "all ones: every token is attended to" : "zero in every step");
    return add(std::move(made));
  }

  std::int64_t open_extent(const Extent& extent) const {
    const auto found = named_.find(extent.name);
    return found == named_.end() ? result_.batch : found->second;
  }

  void note(const std::string& input, const std::string& what) {
    result_.notes.push_back(fmt::format("input '{}' is {}", input, what));
  }

  Status add(ModelInput input) {
    if (checked_count(input.shape).value_or(0) == 0) {
      return bad_input(
          fmt::format("input '{}' has the impossible shape {}", input.name, graph::to_string(input.shape)));
    }
    result_.list.push_back(std::move(input));
    return {};
  }

  // The rows of the table that the ids look up in, directly or after ops that only reshape or cast them.
  Result<std::int64_t> vocabulary(const std::string& ids) const {
    std::vector<std::string> names = {ids};
    std::set<std::string> seen(names.begin(), names.end());
    while (!names.empty()) {
      const std::string name = names.back();
      names.pop_back();
      for (const ::onnx::NodeProto* reader : network_.readers(name)) {
        const bool looks_up = reader->op_type() == "Gather" && reader->input_size() == 2 && reader->input(1) == name;
        const TensorSource* table = looks_up ? initializers_.find(reader->input(0)) : nullptr;
        if (table != nullptr && table->shape.size() == 2) return table->shape[0];
        const bool passes =
            reader->op_type() == "Cast" || reader->op_type() == "Identity" || reader->op_type() == "Reshape";
        if (passes && reader->output_size() == 1 && seen.insert(reader->output(0)).second) {
          names.push_back(reader->output(0));
        }
      }
    }
    return bad_input(fmt::format("input '{}' has integers, but no Gather looks them up in a table of the file", ids));
  }

  const Network& network_;
  const Initializers& initializers_;
  const OnnxOptions& options_;
  ModelInputs result_;
  std::map<std::string, std::int64_t> named_;
};

}  // namespace

Result<ModelInputs> find_inputs(const ::onnx::GraphProto& graph, const Network& network,
                                const Initializers& initializers, const std::set<const ::onnx::NodeProto*>& live,
                                const OnnxOptions& options) {
  std::vector<Declared> all;
  for (const ::onnx::ValueInfoProto& info : graph.input()) {
    const std::vector<const ::onnx::NodeProto*>& readers = network.readers(info.name());
    const bool read =
        std::any_of(readers.begin(), readers.end(), [&](const auto* node) { return live.contains(node); });
    if (!read || initializers.find(info.name()) != nullptr) continue;
    SLUICE_ASSIGN(Declared input, declared(info));
    all.push_back(std::move(input));
  }
  return InputFinder(network, initializers, options).find(std::move(all));
}

}  // namespace sluice::onnx
