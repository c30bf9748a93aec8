// Converters: one function per ONNX op, which reads a node and adds what it stands for to the graph.
//
// A converter returns what it cannot do as an error (without the node's name, which the walk adds). It must read every
// attribute it honours; the rest is reported as not known.
#pragma once

#include "sluice/onnx/convert/conversion.hpp"

namespace sluice {

using Converter = Status (*)(Node& node);

// By ONNX op type, and by the types that patterns.hpp makes ("sluice.Gelu"). Null: not supported.
Converter find_converter(const std::string& op_type);

// The parts of the table, one for each source file.
using ConverterTable = std::map<std::string, Converter>;
void add_window_converters(ConverterTable& table);     // convolutions, pooling
void add_norm_converters(ConverterTable& table);       // norms, dropout, softmax
void add_unary_converters(ConverterTable& table);      // functions of one tensor
void add_binary_converters(ConverterTable& table);     // arithmetic of two, masks
void add_movement_converters(ConverterTable& table);   // reshape, transpose, ...
void add_selection_converters(ConverterTable& table);  // concat, slice, split, pad, sums
void add_matrix_converters(ConverterTable& table);     // dense layers, matrix products, embeddings
void add_recurrent_converters(ConverterTable& table);  // LSTM

// The node's results as arrays, one per output, when all inputs are arrays (Shape and Size need only the input's
// shape). Nothing when the node cannot be folded.
Result<std::optional<std::vector<HostArray>>> fold_node(Node& node);

// Whether an op is known to fold_node(), though perhaps not as a converter.
bool is_folded(const std::string& op_type);

}  // namespace sluice
