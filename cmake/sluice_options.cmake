# Every switch of the build, in one place.
option(SLUICE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
set(SLUICE_CUDA OFF CACHE STRING
    "NVIDIA GPUs: OFF, ON, AUTO (where the CUDA toolkit, cuDNN and cuBLAS are found), or EMULATED for tests")
set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, 'address,undefined' or 'thread'")

option(SLUICE_FUZZ "Build nothing but the fuzzing targets (tests/fuzz), for libFuzzer: needs clang" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Werror>")
  # Designated initialisers leave out the fields that keep their defaults, on purpose.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>")
  # GCC 12 reports std::string concatenation as overlapping copies and as copies beyond the end (GCC bug 105651).
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-stringop-overflow>")
endif()
# GCC collects its garbage at 128 MiB and often; a file takes 512 MiB at most, and a tenth of the time was collecting.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>")
if(SLUICE_FUZZ)
  set(SLUICE_BUILD_TESTS OFF)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link;-Wno-error;-Wno-unknown-pragmas>")
endif()
if(SLUICE_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SLUICE_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
endif()

# Loops of kernels become vector code only without errno and floating-point exceptions, which nobody reads. Results stay.
set(SLUICE_KERNEL_OPTIONS -fno-math-errno -fno-trapping-math)

# Tests and the command do no work of their own that is worth a long compilation: all of it is in the libraries.
set(SLUICE_PROGRAM_OPTIONS "$<$<CONFIG:Release>:-O1>")
if(SLUICE_SANITIZE)
  set(SLUICE_PROGRAM_OPTIONS -O0)
endif()

# Where files are compiled together (CMAKE_UNITY_BUILD), reading their headers is most of the time: 24 at once take two
# thirds of the time of 8 at once, and up to 1.5 GB of memory.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache needs to serve files that use a precompiled header (its manual, "Precompiled headers").
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${SLUICE_CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
