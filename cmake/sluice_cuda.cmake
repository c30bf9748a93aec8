# NVIDIA GPUs: whether this build has kernels for them, and what these are compiled and linked with.
#
# SLUICE_CUDA says AUTO, ON, OFF or EMULATED; SLUICE_HAS_CUDA is the answer. EMULATED is for tests where there is no
# GPU: the sources are compiled for the processor, over the few functions of CUDA that they call
# (sluice/gpu/emulated, sluice/kernels/cuda/emulated). Sanitizers of the host go with that alone, not with CUDA's driver.
set(SLUICE_HAS_CUDA OFF)
set_property(CACHE SLUICE_CUDA PROPERTY STRINGS AUTO ON OFF EMULATED)
if(NOT SLUICE_CUDA MATCHES "^(AUTO|ON|OFF|EMULATED)$")
  message(FATAL_ERROR "SLUICE_CUDA is '${SLUICE_CUDA}': it can be AUTO, ON, OFF or EMULATED")
endif()
if(SLUICE_CUDA STREQUAL "ON" AND SLUICE_SANITIZE)
  message(FATAL_ERROR "SLUICE_CUDA=ON does not go with SLUICE_SANITIZE=${SLUICE_SANITIZE}: choose EMULATED or OFF")
endif()
if(SLUICE_CUDA STREQUAL "EMULATED")
  # Its libraries have functions of CUDA's names.
  install(CODE "message(FATAL_ERROR \"a build with an emulated GPU is for tests: configure with -D SLUICE_CUDA=AUTO\")")
  set(SLUICE_HAS_CUDA EMULATED)
elseif(SLUICE_CUDA AND NOT SLUICE_SANITIZE)
  include(CheckLanguage)
  check_language(CUDA)
  find_package(CUDAToolkit QUIET)
  find_path(SLUICE_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(SLUICE_CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
  if(CMAKE_CUDA_COMPILER AND TARGET CUDA::cublasLt AND SLUICE_CUDNN_INCLUDE AND SLUICE_CUDNN_LIBRARY)
    set(SLUICE_HAS_CUDA ON)
  elseif(NOT SLUICE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "SLUICE_CUDA=${SLUICE_CUDA} needs nvcc (found: ${CMAKE_CUDA_COMPILER}), cuBLASLt (found: "
                        "${CUDAToolkit_LIBRARY_DIR}) and cuDNN (found: ${SLUICE_CUDNN_LIBRARY})")
  endif()
endif()
message(STATUS "NVIDIA GPUs: ${SLUICE_HAS_CUDA}")

if(SLUICE_HAS_CUDA AND NOT SLUICE_HAS_CUDA STREQUAL "EMULATED")
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # A100, H100; what is newer compiles the latter's intermediate code
  endif()
  enable_language(CUDA)
  # CMake 3.25 does not know that nvcc 12 and later have it.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
endif()

# Of a library's C++ sources, those that this build can compile. Who needs CUDA: rooms of a GPU, and files called gpu_* in
# others. Beside them without_gpu.cpp answers where there is no CUDA, and some files stand for libraries where it is emulated.
set(SLUICE_SOURCES_OF_REAL_GPU "/cuda/(cublaslt.cpp|convolution/cudnn_convolution.cpp)$|/gpu/stream_delay.cu$")
set(SLUICE_SOURCES_OF_EMULATED_GPU "/gpu/emulated/|/emulated_[a-z]+.cpp$|/gpu/without_delay.cpp$")
function(sluice_choose_gpu_sources SOURCES)
  set(chosen ${${SOURCES}})
  if(SLUICE_HAS_CUDA STREQUAL "EMULATED")
    list(FILTER chosen EXCLUDE REGEX "${SLUICE_SOURCES_OF_REAL_GPU}|/without_gpu.cpp$")
  elseif(SLUICE_HAS_CUDA)
    list(FILTER chosen EXCLUDE REGEX "${SLUICE_SOURCES_OF_EMULATED_GPU}|/without_gpu.cpp$")
  else()
    set(answers ${chosen})
    list(FILTER answers INCLUDE REGEX "/without_gpu.cpp$")
    list(FILTER chosen EXCLUDE REGEX "/sluice/(kernels/cuda|gpu)/|/gpu_[a-z_]+.cpp$|/without_gpu.cpp$")
    list(APPEND chosen ${answers})
  endif()
  set(${SOURCES} ${chosen} PARENT_SCOPE)
endfunction()

# Compiles a library's files for CUDA, and adds its kernels (*.cu).
function(sluice_add_cuda LIBRARY)
  set(target sluice_${LIBRARY})
  sluice_rooms_of(${LIBRARY} rooms unused)
  set(kernels "")
  foreach(room IN LISTS rooms)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sluice/${room}/*.cu)
    list(APPEND kernels ${found})
  endforeach()
  if(SLUICE_HAS_CUDA STREQUAL "EMULATED")
    list(FILTER kernels EXCLUDE REGEX "${SLUICE_SOURCES_OF_REAL_GPU}")
    sluice_emulate_cuda(${target})
    if(kernels)
      set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX)
      add_library(${target}_kernels OBJECT ${kernels})
      # nvcc knows other pragmas and does not mind names that hide others; every product and sum is rounded.
      target_compile_options(${target}_kernels PRIVATE -Wno-unknown-pragmas -Wno-shadow -ffp-contract=off)
      target_link_libraries(${target}_kernels PRIVATE sluice::base sluice::graph)
      sluice_emulate_cuda(${target}_kernels)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_kernels>)
    endif()
  else()
    target_compile_options(
      ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;-Xcompiler=-Wall>")
    target_include_directories(${target} SYSTEM PRIVATE ${SLUICE_CUDNN_INCLUDE})
    # cuBLASLt is opened when a GPU is used (kernels/cuda/cublaslt.hpp).
    target_link_libraries(${target} PRIVATE CUDA::cudart ${SLUICE_CUDNN_LIBRARY} ${CMAKE_DL_LIBS})
    set_source_files_properties(${kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
    target_sources(${target} PRIVATE ${kernels})
  endif()
endfunction()

# What <cuda_runtime.h>, <cublasLt.h> and <cudnn.h> are for it.
function(sluice_emulate_cuda TARGET)
  target_include_directories(${TARGET} PRIVATE ${PROJECT_SOURCE_DIR}/sluice/gpu/emulated
                                               ${PROJECT_SOURCE_DIR}/sluice/kernels/cuda/emulated)
  target_compile_definitions(${TARGET} PRIVATE SLUICE_EMULATED_CUDA)
endfunction()
