# Debian packages of a build: `cpack --config build/release/CPackConfig.cmake` (scripts/package.sh) writes
#   sluice           the command, the libraries and their headers
#   python3-sluice   the Python package, where it was built
# What they depend on is found in their binaries (dpkg-shlibdeps), so each is for the Debian that it was built on.
set(CPACK_COMPONENTS_ALL sluice)
if(TARGET sluice_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(modules sluice_python sluice_python_train)
  if(TARGET sluice_python_torch)
    list(APPEND modules sluice_python_torch)
  endif()
  find_package(Python COMPONENTS Interpreter REQUIRED)
  set(package lib/python3/dist-packages/sluice)  # Debian's, for what comes in packages
  install(TARGETS ${modules} LIBRARY DESTINATION ${package} COMPONENT python EXCLUDE_FROM_ALL)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/sluice/ DESTINATION ${package} COMPONENT python EXCLUDE_FROM_ALL
          FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
endif()

file(STRINGS /etc/os-release release REGEX "^VERSION_ID=")
string(REGEX REPLACE "[^0-9.]" "" release "${release}")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_CONTACT "The Sluice authors <sluice@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~deb${release})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SLUICE_PACKAGE_NAME sluice)
set(CPACK_DEBIAN_SLUICE_PACKAGE_SUGGESTS
    "libdnnl-dev, liburing-dev, libnuma-dev, libfmt-dev, libspdlog-dev, nlohmann-json3-dev, libxxhash-dev, coinor-libcbc-dev, libonnx-dev, libprotobuf-dev")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-sluice)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "sluice (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}), python3 (<< ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}.99)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS python3-torch)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/prerm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_SLUICE_DESCRIPTION "plans and runs the training of networks inside a budget of fast memory")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "PyTorch and Sluice: offloading, planning and training from Python")
include(CPack)
