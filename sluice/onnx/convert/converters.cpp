#include "sluice/onnx/convert/converters.hpp"

namespace sluice {

Converter find_converter(const std::string& op_type) {
  static const ConverterTable table = [] {
    ConverterTable all;
    add_window_converters(all);
    add_norm_converters(all);
    add_unary_converters(all);
    add_binary_converters(all);
    add_movement_converters(all);
    add_selection_converters(all);
    add_matrix_converters(all);
    add_recurrent_converters(all);
    return all;
  }();
  const auto found = table.find(op_type);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace sluice
