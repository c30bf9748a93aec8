# Writes SOURCE, the C++ file with the report page's assets as string literals: a script of sluice_page.cmake.
#
#   cmake -D WEB=FOLDER -D LIBRARY=FOLDER -D WHY=TEXT -D SOURCE=FILE -P embed_page.cmake
#
# WEB: our style and scripts. LIBRARY: the charting library. WHY: why there is none; then there are no scripts either.
# Scripts are joined into one function: the library with its licence, ours by name, and main.js, which starts them.
set(limit ")page\"")  # ends a literal; neither it nor what ends a page's element may be in a text

function(check TEXT WHERE)
  foreach(ending "${limit}" "</script" "</style" "<!--")
    string(FIND "${TEXT}" "${ending}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "embed_page: ${WHERE} holds ${ending}, which would end it early")
    endif()
  endforeach()
endfunction()

file(READ ${WEB}/page.css style)
set(scripts "")
if(NOT WHY)
  file(READ ${LIBRARY}/LICENSE licence)
  file(READ ${LIBRARY}/dist/uPlot.min.css library_style)
  file(READ ${LIBRARY}/dist/uPlot.iife.min.js library)
  set(style "/*! uPlot\n${licence}\n*/\n${library_style}\n${style}")
  file(GLOB files ${WEB}/*.js)
  list(SORT files)
  list(REMOVE_ITEM files ${WEB}/main.js)
  set(scripts "(() => {\n\"use strict\";\n/*! uPlot\n${licence}\n*/\n${library}\n")
  foreach(file IN LISTS files ITEMS ${WEB}/main.js)
    file(READ ${file} text)
    string(APPEND scripts "${text}")
  endforeach()
  string(APPEND scripts "})();\n")
endif()
check("${style}" "the style")
check("${scripts}" "a script")

file(WRITE ${SOURCE} "// Written by cmake/embed_page.cmake.
#include \"sluice/report/page/assets.hpp\"

namespace sluice::report {

std::string_view page_style() { return R\"page(${style})page\"; }

std::string_view page_scripts() { return R\"page(${scripts})page\"; }

std::string_view why_no_charts() { return R\"page(${WHY})page\"; }

}  // namespace sluice::report
")
