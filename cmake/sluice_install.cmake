# Installs the libraries, headers, the `sluice` command and the CMake package, so that another project can say
#   find_package(sluice REQUIRED)
#   target_link_libraries(app PRIVATE sluice::sluice)
# Single folders are there too (sluice::graph, sluice::plan, ...). The test-only library stays out.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY SLUICE_LIBRARIES)
list(REMOVE_ITEM libraries sluice_testing)

add_library(sluice_all INTERFACE)
add_library(sluice::sluice ALIAS sluice_all)
set_target_properties(sluice_all PROPERTIES EXPORT_NAME sluice)
list(TRANSFORM libraries REPLACE "^sluice_" "sluice::" OUTPUT_VARIABLE aliases)
target_link_libraries(sluice_all INTERFACE ${aliases})

install(TARGETS sluice_all ${libraries} EXPORT sluice_targets)
# The public headers: what the umbrella reaches. All others are private and stay here.
set(waiting sluice/sluice.hpp)
set(public "")
while(waiting)
  list(POP_FRONT waiting header)
  if(NOT header IN_LIST public)
    list(APPEND public ${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} includes REGEX "^#include \"sluice/")
    list(TRANSFORM includes REPLACE "^#include \"([^\"]+)\".*" "\\1")
    list(APPEND waiting ${includes})
  endif()
endwhile()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sluice/sluice.hpp)
foreach(header IN LISTS public)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()
install(TARGETS sluice_command RUNTIME)
# tools/CMakeLists.txt writes these.
set(help ${PROJECT_BINARY_DIR}/help)
install(FILES ${help}/sluice.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sluice)
if(SLUICE_HELP2MAN)
  install(DIRECTORY ${help}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
install(EXPORT sluice_targets NAMESPACE sluice:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/sluice-config.cmake.in
                              ${PROJECT_BINARY_DIR}/sluice-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sluice-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sluice-config.cmake ${PROJECT_BINARY_DIR}/sluice-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/sluice_onnx.cmake
        DESTINATION ${package_dir})
