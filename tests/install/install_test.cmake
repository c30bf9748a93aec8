# Run by CTest: BUILD is the build to install, CONSUMER the outside project, WORK a folder of our own.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run("installing" ${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${WORK}/prefix)
run("configuring the outside project"
    ${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G Ninja -D CMAKE_BUILD_TYPE=Release
                     -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run("building the outside project" ${CMAKE_COMMAND} --build ${WORK}/build)
run("running the outside project" ${WORK}/build/plan_summary)
message("${output}")
if(NOT output MATCHES "resnet20: [0-9]+ ops, [1-9][0-9]* migrations")
  message(FATAL_ERROR "the outside project printed no plan summary")
endif()

run("running the installed command" ${WORK}/prefix/bin/sluice --version)
file(GLOB_RECURSE test_only ${WORK}/prefix/*testing*)
if(test_only)
  message(FATAL_ERROR "test-only files were installed: ${test_only}")
endif()
