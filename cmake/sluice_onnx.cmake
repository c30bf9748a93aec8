# ONNX::onnx_proto: the protobuf classes of ONNX, whose CMake package expects protobuf's targets. Before 1.17 it had no namespace.
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)
if(NOT TARGET ONNX::onnx_proto)
  add_library(ONNX::onnx_proto INTERFACE IMPORTED)
  target_link_libraries(ONNX::onnx_proto INTERFACE onnx_proto)
endif()
