# The report page's style and scripts, put into the library `report` (sluice/report/page/assets.hpp).
#
# The charting library comes from npm, into the build folder, when CMake configures: what the lock file names, by its
# checksum. Where npm is missing, fails or is switched off (-D SLUICE_NPM=NO) the build goes on and the page has no charts and says why.
# Joining and embedding are part of the build: editing a script builds the page's source again, and nothing else.
set(SLUICE_WEB ${PROJECT_SOURCE_DIR}/sluice/report/page/web)
set(SLUICE_WEB_BUILD ${PROJECT_BINARY_DIR}/page)
find_program(SLUICE_NPM npm DOC "npm, which fetches the charting library; NO: reports without charts")

# Fetches what package-lock.json names, unless it is there. WHY_OUT: why there are no charts, or empty.
function(sluice_fetch_chart_library WHY_OUT)
  set(${WHY_OUT} "" PARENT_SCOPE)
  file(SHA256 ${SLUICE_WEB}/package-lock.json wanted)
  set(fetched "")
  if(EXISTS ${SLUICE_WEB_BUILD}/fetched)
    file(READ ${SLUICE_WEB_BUILD}/fetched fetched)
  endif()
  if(SLUICE_NPM STREQUAL "SLUICE_NPM-NOTFOUND")
    set(${WHY_OUT} "npm was not found when this sluice was built" PARENT_SCOPE)
  elseif(NOT SLUICE_NPM)
    set(${WHY_OUT} "this sluice was built without npm (SLUICE_NPM=${SLUICE_NPM})" PARENT_SCOPE)
  elseif(NOT fetched STREQUAL wanted)
    file(COPY ${SLUICE_WEB}/package.json ${SLUICE_WEB}/package-lock.json DESTINATION ${SLUICE_WEB_BUILD})
    execute_process(COMMAND ${SLUICE_NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries=1
                    WORKING_DIRECTORY ${SLUICE_WEB_BUILD} TIMEOUT 120
                    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(status EQUAL 0)
      file(WRITE ${SLUICE_WEB_BUILD}/fetched ${wanted})
    else()
      message(WARNING "npm ci failed (${status}), so reports will have no charts:\n${output}")
      set(${WHY_OUT} "npm could not fetch the charting library when this sluice was built" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Adds the generated source of the assets to TARGET.
function(sluice_embed_page TARGET)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SLUICE_WEB}/package-lock.json)
  sluice_fetch_chart_library(why)
  if(why)
    message(STATUS "Report page: no charts (${why})")
  endif()
  set(library ${SLUICE_WEB_BUILD}/node_modules/uplot)
  file(GLOB own CONFIGURE_DEPENDS ${SLUICE_WEB}/*.js ${SLUICE_WEB}/*.css)
  set(source ${SLUICE_WEB_BUILD}/assets.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D WEB=${SLUICE_WEB} -D LIBRARY=${library} -D "WHY=${why}" -D SOURCE=${source} -P ${script}
    DEPENDS ${own} ${script} ${SLUICE_WEB}/package-lock.json
    COMMENT "Embedding the report page's style and scripts"
    VERBATIM)
  target_sources(${TARGET} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
