// Prints the table of ONNX ops that scripts/write_onnx_ops.sh puts into docs/onnx.md.
#include <iostream>

#include "sluice/onnx/op_list.hpp"

int main() { std::cout << sluice::onnx::onnx_op_rows(); }
