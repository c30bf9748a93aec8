# A build without the charting library goes on and says why: npm missing, switched off, or failing.
#
#   cmake -D SOURCE=REPOSITORY -D WORK=FOLDER -P without_npm_test.cmake
set(PROJECT_SOURCE_DIR ${SOURCE})
set(PROJECT_BINARY_DIR ${WORK})
include(${SOURCE}/cmake/sluice_page.cmake)

function(expect_reason NPM EXPECTED)
  file(REMOVE_RECURSE ${WORK})
  set(SLUICE_NPM ${NPM})
  sluice_fetch_chart_library(why)
  if(NOT why MATCHES "${EXPECTED}")
    message(FATAL_ERROR "with SLUICE_NPM=${NPM} the reason is '${why}', not ${EXPECTED}")
  endif()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -D WEB=${SLUICE_WEB} -D LIBRARY=/nowhere -D "WHY=${why}" -D SOURCE=${WORK}/assets.cpp
            -P ${SOURCE}/cmake/embed_page.cmake
    COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${WORK}/assets.cpp assets)
  foreach(line "page_scripts() { return R\"page()page\"; }" "why_no_charts() { return R\"page(${why})page\"; }" "prefers-color-scheme")
    string(FIND "${assets}" "${line}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "with SLUICE_NPM=${NPM} the assets lack ${line}")
    endif()
  endforeach()
endfunction()

find_program(SLUICE_FALSE false REQUIRED)
expect_reason(SLUICE_NPM-NOTFOUND "npm was not found")
expect_reason(NO "built without npm")
expect_reason(${SLUICE_FALSE} "npm could not fetch")
