#include "sluice/onnx/convert/converters.hpp"

#include <array>

namespace sluice::onnx {

std::span<const ConverterFamily> converter_families() {
  static constexpr auto kFamilies = std::to_array<ConverterFamily>({
      {"convolutions", add_window_converters},
      {"pooling", add_pooling_converters},
      {"resizing", add_resize_converters},
      {"padding", add_padding_converters},
      {"norms", add_norm_converters},
      {"", add_other_norm_converters},
      {"products", add_matrix_converters},
      {"", add_einsum_converters},
      {"recurrences", add_recurrent_converters},
      {"losses", add_loss_converters},
      {"functions", add_unary_converters},
      {"", add_function_converters},
      {"arithmetic", add_binary_converters},
      {"", add_comparison_converters},
      {"reductions", add_reduction_converters},
      {"movement", add_movement_converters},
      {"", add_rearrangement_converters},
      {"selection", add_selection_converters},
      {"", add_lookup_converters},
      {"", add_indexing_converters},
  });
  return kFamilies;
}

Converter find_converter(const std::string& op_type) {
  static const ConverterTable table = [] {
    ConverterTable all;
    for (const ConverterFamily& family : converter_families()) family.add(all);
    return all;
  }();
  const auto found = table.find(op_type);
  return found == table.end() ? nullptr : found->second.convert;
}

}  // namespace sluice::onnx
