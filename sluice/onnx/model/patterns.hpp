// Finds what exporters break into small ops, and makes it one node again: GELU (by erf or tanh), SiLU, hard swish and
// layer norm. Products and sums are compared as sets of factors and terms, so that the order in which an exporter wrote
// them, and whether it divides or multiplies by the inverse, does not matter.
#pragma once

#include "sluice/onnx/model/network.hpp"

namespace sluice::onnx {

void merge_patterns(Network& network, const Initializers& initializers);

}  // namespace sluice::onnx
