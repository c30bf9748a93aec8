# Reading the standard library and large outside headers takes half the time of a typical file. They are precompiled once
# per set of compiler flags (GCC accepts a precompiled header under no others), and sluice_precompile(TARGET SET) makes a
# target use them. Headers of our own are never in a set: changing one would build everything again.
#
# A file still includes all that it uses. Builds without these sets show what is missing: the preset `debug`, any build
# with -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON, and scripts/check_tidy.sh.

# sluice_precompiled_set(SET HEADER... [LINK target...] [OPTIONS option...] [PROGRAM])
#   LINK and OPTIONS as the targets of the set have them; PROGRAM when these are executables.
function(sluice_precompiled_set SET)
  cmake_parse_arguments(ARG "PROGRAM" "" "LINK;OPTIONS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/precompiled/${SET}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Every target has a source; this one is here for its precompiled headers.\n")
  set(target sluice_precompiled_${SET})
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(${target} PRIVATE fmt::fmt ${ARG_LINK})
  target_compile_options(${target} PRIVATE ${ARG_OPTIONS})
  if(ARG_PROGRAM)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIE ${SLUICE_PROGRAM_OPTIONS})
  endif()
  target_precompile_headers(${target} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
endfunction()

function(sluice_precompile TARGET SET)
  target_precompile_headers(${TARGET} REUSE_FROM sluice_precompiled_${SET})
  get_target_property(type ${TARGET} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_compile_options(${TARGET} PRIVATE ${SLUICE_PROGRAM_OPTIONS})
  endif()
endfunction()

set(standard <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory> <numeric>
             <optional> <set> <span> <string> <string_view> <utility> <variant> <vector> <fmt/format.h>)
sluice_precompiled_set(library ${standard})
sluice_precompiled_set(parallel_library ${standard} LINK OpenMP::OpenMP_CXX)
sluice_precompiled_set(kernels ${standard} <dnnl.hpp> LINK DNNL::dnnl OpenMP::OpenMP_CXX OPTIONS ${SLUICE_KERNEL_OPTIONS})
if(SLUICE_BUILD_TESTS)
  list(APPEND standard <gmock/gmock.h> <gtest/gtest.h>)
  sluice_precompiled_set(test ${standard} LINK GTest::gmock PROGRAM)
  sluice_precompiled_set(parallel_test ${standard} LINK GTest::gmock OpenMP::OpenMP_CXX PROGRAM)
endif()
unset(standard)
