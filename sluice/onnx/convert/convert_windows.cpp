// Convolutions and pooling: ops whose kernel moves over an image. One-dimensional ones are images of height 1.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/onnx/convert/converters.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kLargestWindow = 1 << 20;  // of kernel, stride, dilation and padding

// The spatial attributes as ONNX gives them, for images of one or two dimensions.
struct Spatial {
  std::vector<std::int64_t> kernel, strides, dilations, pads;  // pads: all begins, then all ends
  std::string auto_pad;
  bool ceil = false;
};

std::vector<std::int64_t> or_all(std::optional<std::vector<std::int64_t>> values, std::size_t count,
                                 std::int64_t each) {
  return values ? std::move(*values) : std::vector<std::int64_t>(count, each);
}

bool in_range(const std::vector<std::int64_t>& values, std::size_t count, std::int64_t least) {
  return values.size() == count && std::all_of(values.begin(), values.end(), [&](std::int64_t value) {
           return value >= least && value <= kLargestWindow;
         });
}

Result<Spatial> read_spatial(Node& node, const std::vector<std::int64_t>& kernel) {
  const std::size_t rank = kernel.size();
  NodeAttributes& attributes = node.attributes;
  Spatial spatial;
  spatial.kernel = kernel;
  spatial.strides = or_all(attributes.integers("strides"), rank, 1);
  spatial.dilations = or_all(attributes.integers("dilations"), rank, 1);
  spatial.pads = or_all(attributes.integers("pads"), 2 * rank, 0);
  spatial.auto_pad = attributes.text("auto_pad", "NOTSET");
  spatial.ceil = attributes.integer("ceil_mode", 0) != 0;
  const bool sane = (rank == 1 || rank == 2) && in_range(spatial.kernel, rank, 1) &&
                    in_range(spatial.strides, rank, 1) && in_range(spatial.dilations, rank, 1) &&
                    in_range(spatial.pads, 2 * rank, 0);
  if (!sane) {
    return node.error(
        "needs kernels, strides, dilations and paddings of one or two dimensions, of at least 1 (padding: "
        "0) and at most a million");
  }
  return spatial;
}

// One dimension of a window; the padding that auto_pad or a rounded-up size ask for is added.
struct Side {
  std::int64_t extent, kernel, stride, dilation, before, after;
  std::int64_t reach() const { return dilation * (kernel - 1) + 1; }
};

void pad_automatically(const std::string& mode, Side& side) {
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") return;
  const std::int64_t outputs = (side.extent + side.stride - 1) / side.stride;
  const std::int64_t padding = std::max<std::int64_t>((outputs - 1) * side.stride + side.reach() - side.extent, 0);
  side.before = mode == "SAME_UPPER" ? padding / 2 : padding - padding / 2;
  side.after = padding - side.before;
}

// The padding below that makes room for one more window where the last stride did not fit; a window that would start
// in that padding is left out, as PyTorch does.
std::int64_t rounding_padding(const Side& side) {
  const std::int64_t room = side.extent + side.before + side.after - side.reach();
  if (room < 0) return 0;
  const std::int64_t last = (room + side.stride - 1) / side.stride * side.stride;  // where the last window starts
  return last >= side.extent + side.before ? 0 : std::max<std::int64_t>(last - room, 0);
}

struct Windowed {
  Window window;
  bool rounded = false;  // the size was rounded up, with padding that is not in the file
};

Windowed window_of(const Spatial& spatial, const Shape& image, const std::array<std::int64_t, 4>& extra) {
  const std::size_t rank = spatial.kernel.size();
  Side sides[2] = {{1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 0, 0}};
  Windowed result;
  for (std::size_t d = 0; d < rank; ++d) {
    Side& side = sides[2 - rank + d];
    side = {image[2 + d],         spatial.kernel[d], spatial.strides[d],
            spatial.dilations[d], spatial.pads[d],   spatial.pads[rank + d]};
    pad_automatically(spatial.auto_pad, side);
    const std::int64_t rounding = spatial.ceil ? rounding_padding(side) : 0;
    side.after += rounding;
    result.rounded = result.rounded || rounding > 0;
  }
  const auto& [vertical, horizontal] = sides;
  result.window = {vertical.kernel,
                   horizontal.kernel,
                   vertical.stride,
                   horizontal.stride,
                   vertical.dilation,
                   horizontal.dilation,
                   vertical.before + extra[0],
                   horizontal.before + extra[1],
                   vertical.after + extra[2],
                   horizontal.after + extra[3]};
  return result;
}

// The image as [N, C, H, W]; [N, C, L] becomes [N, C, 1, L].
struct Image {
  TensorId x = -1;
  Shape shape;                               // without the padding that is still to do
  std::array<std::int64_t, 4> padding = {};  // zeros that a Pad before left for this op
  bool flat = false;
};

Result<Image> image_of(Node& node) {
  const Value value = node.value(0);
  if (value.kind != Value::Kind::kTensor) return node.error("needs an image that depends on the step's data");
  Image image;
  image.shape = node.builder.shape(value.tensor);
  if (image.shape.size() != 3 && image.shape.size() != 4) {
    return node.error(fmt::format("needs an image [N, C, H, W] or [N, C, L], got {}", to_string(image.shape)));
  }
  image.flat = image.shape.size() == 3;
  image.padding = value.padding;
  image.x = value.tensor;
  if (image.flat) {
    image.x = node.builder.reshape(value.tensor, {image.shape[0], image.shape[1], 1, image.shape[2]});
  }
  return image;
}

void set_image(Node& node, const Image& image, TensorId y) {
  if (image.flat && !node.builder.failed()) {
    const Shape shape = node.builder.shape(y);
    y = node.builder.reshape(y, {shape[0], shape[1], shape[3]});
  }
  node.set(y);
}

std::vector<std::int64_t> spatial_part(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

Status read_kernel_shape(Node& node, const Shape& weight) {
  const auto stated = node.attributes.integers("kernel_shape");
  if (!stated || *stated == spatial_part(weight)) return {};
  return node.error(fmt::format("says kernel_shape {}, but its weights are {}", to_string(*stated), to_string(weight)));
}

// Inputs of the op: x, w and the bias when there is one.
Result<std::vector<TensorId>> convolution_inputs(Node& node, const Image& image, std::size_t rank) {
  SLUICE_ASSIGN(Weights weight, node.weights(1, rank));
  if (image.flat) {
    const Shape& shape = weight->shape;
    weight = reshaped_weights(weight, {shape[0], shape[1], 1, shape[2]});
  }
  SLUICE_ASSIGN(const TensorId w, node.conversion.parameter(weight, node.name() + ".weight"));
  std::vector<TensorId> inputs = {image.x, w};
  if (node.has(2)) {
    SLUICE_ASSIGN(const Weights bias, node.weights(2, 1));
    SLUICE_ASSIGN(const TensorId b, node.conversion.parameter(bias, node.name() + ".bias"));
    inputs.push_back(b);
  }
  return inputs;
}

Status convert_conv(Node& node) {
  SLUICE_ASSIGN(const Image image, image_of(node));
  SLUICE_ASSIGN(const Weights weight, node.weights(1, image.shape.size()));
  SLUICE_RETURN_IF_ERROR(read_kernel_shape(node, weight->shape));
  SLUICE_ASSIGN(const Spatial spatial, read_spatial(node, spatial_part(weight->shape)));
  Attributes attributes;
  attributes.groups = node.attributes.integer("group", 1);
  attributes.window = window_of(spatial, image.shape, image.padding).window;
  SLUICE_ASSIGN(const std::vector<TensorId> inputs, convolution_inputs(node, image, image.shape.size()));
  if (!image.flat) attributes.activation = node.absorb_activation();
  SLUICE_ASSIGN(const TensorId y, node.add(OpKind::kConv2d, attributes, inputs));
  set_image(node, image, y);
  return {};
}

Status convert_conv_transpose(Node& node) {
  SLUICE_ASSIGN(const Image image, image_of(node));
  SLUICE_ASSIGN(const Weights weight, node.weights(1, image.shape.size()));
  SLUICE_RETURN_IF_ERROR(read_kernel_shape(node, weight->shape));
  SLUICE_ASSIGN(const Spatial spatial, read_spatial(node, spatial_part(weight->shape)));
  const std::size_t rank = spatial.kernel.size();
  const auto output_padding = or_all(node.attributes.integers("output_padding"), rank, 0);
  if (node.attributes.has("output_shape") || spatial.auto_pad != "NOTSET" || !in_range(output_padding, rank, 0)) {
    return node.error("needs its size from pads and output_padding, not from output_shape or auto_pad");
  }
  if (image.padding != std::array<std::int64_t, 4>{}) return node.error("reads a padded image");
  Attributes attributes;
  attributes.groups = node.attributes.integer("group", 1);
  attributes.window = window_of(spatial, image.shape, {}).window;
  attributes.window.pad_right -= output_padding.back();
  if (rank == 2) attributes.window.pad_bottom -= output_padding.front();
  SLUICE_ASSIGN(const std::vector<TensorId> inputs, convolution_inputs(node, image, image.shape.size()));
  if (!image.flat) attributes.activation = node.absorb_activation();
  SLUICE_ASSIGN(const TensorId y, node.add(OpKind::kConvTranspose2d, attributes, inputs));
  set_image(node, image, y);
  return {};
}

Result<Spatial> pool_spatial(Node& node) {
  const auto kernel = node.attributes.integers("kernel_shape");
  if (!kernel) return node.error("needs the attribute kernel_shape");
  return read_spatial(node, *kernel);
}

Status convert_max_pool(Node& node) {
  SLUICE_ASSIGN(const Spatial spatial, pool_spatial(node));
  SLUICE_ASSIGN(Image image, image_of(node));
  if (image.padding != std::array<std::int64_t, 4>{}) {
    SLUICE_ASSIGN(image.x, node.tensor(0));
    image.shape = node.builder.shape(image.x);
  }
  if (spatial.kernel.size() + 2 != image.shape.size()) return node.error("has a kernel_shape of another rank than x");
  node.attributes.ignore("storage_order");  // of the indices, which nobody reads
  if (node.proto.output_size() > 1 && node.conversion.is_read(node.proto.output(1))) {
    return node.error("has its indices read by other nodes");
  }
  Attributes attributes;
  attributes.window = window_of(spatial, image.shape, {}).window;
  SLUICE_ASSIGN(const TensorId y, node.add(OpKind::kMaxPool, attributes, {image.x}));
  set_image(node, image, y);
  return {};
}

Status convert_average_pool(Node& node) {
  SLUICE_ASSIGN(const Spatial spatial, pool_spatial(node));
  SLUICE_ASSIGN(const Image image, image_of(node));
  if (spatial.kernel.size() + 2 != image.shape.size()) return node.error("has a kernel_shape of another rank than x");
  const bool padded_before = image.padding != std::array<std::int64_t, 4>{};
  const Windowed windowed = window_of(spatial, image.shape, image.padding);
  Attributes attributes;
  attributes.window = windowed.window;
  attributes.count_padding = node.attributes.integer("count_include_pad", 0) != 0 || padded_before;
  const bool own_padding = std::any_of(spatial.pads.begin(), spatial.pads.end(), [](auto pad) { return pad != 0; });
  if (attributes.count_padding && (windowed.rounded || (padded_before && own_padding))) {
    return node.error("counts some of its padding in the mean and some not (ceil_mode with count_include_pad)");
  }
  SLUICE_ASSIGN(const TensorId y, node.add(OpKind::kAvgPool, attributes, {image.x}));
  set_image(node, image, y);
  return {};
}

Status convert_global_pool(Node& node, OpKind kind) {
  SLUICE_ASSIGN(const TensorId given, node.tensor(0));
  SLUICE_ASSIGN(Image image, image_of(node));
  if (!image.flat) image.x = given;
  const Shape& shape = node.builder.shape(image.x);
  Attributes attributes;
  attributes.window.kernel_h = shape[2];
  attributes.window.kernel_w = shape[3];
  SLUICE_ASSIGN(const TensorId y, node.add(kind, attributes, {image.x}));
  set_image(node, image, y);
  return {};
}

Status convert_global_average_pool(Node& node) { return convert_global_pool(node, OpKind::kAvgPool); }
Status convert_global_max_pool(Node& node) { return convert_global_pool(node, OpKind::kMaxPool); }

}  // namespace

void add_window_converters(ConverterTable& table) {
  table["Conv"] = convert_conv;
  table["ConvTranspose"] = convert_conv_transpose;
  table["MaxPool"] = convert_max_pool;
  table["AveragePool"] = convert_average_pool;
  table["GlobalAveragePool"] = convert_global_average_pool;
  table["GlobalMaxPool"] = convert_global_max_pool;
}

}  // namespace sluice
