// Converters: one function per ONNX op, which reads a node and adds what it stands for to the graph.
//
// A converter returns what it cannot do as an error (without the node's name, which the walk adds). It must read every
// attribute it honours; the rest is reported as not known.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sluice/onnx/convert/conversion.hpp"

namespace sluice::onnx {

using Converter = Status (*)(Node& node);

// By ONNX op type, and by the types that patterns.hpp makes ("sluice.Gelu"). Null: not supported.
Converter find_converter(const std::string& op_type);

struct ConverterEntry {
  ConverterEntry() = default;
  ConverterEntry(Converter function, std::string_view what = {}) : convert(function), limits(what) {}

  Converter convert = nullptr;
  std::string_view limits;  // what of the op is supported, where that is not all: docs/onnx.md says it
};
using ConverterTable = std::map<std::string, ConverterEntry>;

// "layer1.bn" of "layer1.bn.weight", so that scale and shift, which become one tensor, have one name.
std::string norm_name(const std::string& scale);

// The parts of the table, one for each source file.
void add_window_converters(ConverterTable& table);         // convolutions
void add_pooling_converters(ConverterTable& table);        // pooling
void add_resize_converters(ConverterTable& table);         // resizing
void add_padding_converters(ConverterTable& table);        // padding, cropping
void add_norm_converters(ConverterTable& table);           // batch norms, dropout, softmax
void add_other_norm_converters(ConverterTable& table);     // norms by layer, group, instance, length
void add_matrix_converters(ConverterTable& table);         // dense layers, matrix products
void add_einsum_converters(ConverterTable& table);         // sums of products by labels, Fourier transforms
void add_loss_converters(ConverterTable& table);           // losses that the model has inside
void add_recurrent_converters(ConverterTable& table);      // LSTM, GRU, RNN
void add_unary_converters(ConverterTable& table);          // functions of one tensor that are one op
void add_function_converters(ConverterTable& table);       // other functions of one tensor
void add_binary_converters(ConverterTable& table);         // arithmetic of two, masks
void add_comparison_converters(ConverterTable& table);     // comparisons, logic, arithmetic of several
void add_reduction_converters(ConverterTable& table);      // sums, means, maxima, ranks
void add_movement_converters(ConverterTable& table);       // reshape, transpose, ...
void add_rearrangement_converters(ConverterTable& table);  // tiles, blocks, triangles
void add_selection_converters(ConverterTable& table);      // concat, slice, split
void add_lookup_converters(ConverterTable& table);         // embeddings, elements along an axis
void add_indexing_converters(ConverterTable& table);       // gathers and scatters of elements

struct ConverterFamily {
  std::string_view title;  // in the list of ops; empty: that of the one before
  void (*add)(ConverterTable& table);
};
std::span<const ConverterFamily> converter_families();

// The node's results as arrays, one per output, when all inputs are arrays (Shape and Size need only the input's
// shape). Nothing when the node cannot be folded.
Result<std::optional<std::vector<HostArray>>> fold_node(Node& node);

// Whether an op is known to fold_node(), though perhaps not as a converter.
bool is_folded(const std::string& op_type);
std::vector<std::string> folded_ops();

}  // namespace sluice::onnx
