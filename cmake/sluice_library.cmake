# sluice_library(NAME [DEPENDS lib...] [LINK target...])
#
# One CMake library per folder. Sources are the folder's *.cpp; tests are its *_test.cpp, which become one test
# program `sluice_NAME_test`, run by CTest test by test. DEPENDS names other sluice folders, LINK outside targets.
function(sluice_library NAME)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK;PRIVATE_LINK;SUBFOLDERS;TEST_DEPENDS" ${ARGN})
  set(folders ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(sub ${ARG_SUBFOLDERS})
    list(APPEND folders ${CMAKE_CURRENT_SOURCE_DIR}/${sub})
  endforeach()
  set(sources "")
  set(tests "")
  foreach(folder ${folders})
    file(GLOB found CONFIGURE_DEPENDS ${folder}/*.cpp)
    list(APPEND sources ${found})
    file(GLOB found CONFIGURE_DEPENDS ${folder}/*_test.cpp)
    list(APPEND tests ${found})
  endforeach()
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()

  add_library(sluice_${NAME} STATIC ${sources})
  add_library(sluice::${NAME} ALIAS sluice_${NAME})
  set_target_properties(sluice_${NAME} PROPERTIES EXPORT_NAME ${NAME})
  target_include_directories(sluice_${NAME} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                   $<INSTALL_INTERFACE:include>)
  target_compile_features(sluice_${NAME} PUBLIC cxx_std_20)
  list(TRANSFORM ARG_DEPENDS PREPEND sluice::)
  target_link_libraries(sluice_${NAME} PUBLIC ${ARG_DEPENDS} ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  set_property(GLOBAL APPEND PROPERTY SLUICE_LIBRARIES sluice_${NAME})

  if(SLUICE_BUILD_TESTS AND tests)
    add_executable(sluice_${NAME}_test ${tests})
    list(TRANSFORM ARG_TEST_DEPENDS PREPEND sluice::)
    target_link_libraries(sluice_${NAME}_test PRIVATE sluice::${NAME} ${ARG_TEST_DEPENDS} ${ARG_PRIVATE_LINK}
                          GTest::gtest GTest::gmock GTest::gtest_main)
    include(GoogleTest)
    gtest_discover_tests(sluice_${NAME}_test NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT 600 LABELS ${NAME})
  endif()
endfunction()
