# Pages into a program.
#
#   ortscope_embed_page(TARGET PREFIX page.html STYLES a.css ... SCRIPTS a.js ...)
#
# page.html has the marks @STYLE@, @SCRIPT@, @POLICY@ and @DATA@. The styles and the scripts are put one
# after the other into one element each, the scripts into one function. @POLICY@ becomes the hashes by
# which a content security policy knows this script and this style, and no others. What stands before
# and behind @DATA@ becomes two arrays of bytes, PREFIX_head and PREFIX_tail, with their sizes
# (PREFIX_head_size, PREFIX_tail_size): C that is compiled into TARGET.

function(ortscope_embed_page target prefix page)
    cmake_parse_arguments(arg "" "" "STYLES;SCRIPTS" ${ARGN})
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${prefix}_assets.c)
    set(files "")
    foreach(kind STYLES SCRIPTS)
        set(${kind} "")
        foreach(file IN LISTS arg_${kind})
            list(APPEND files ${CMAKE_CURRENT_SOURCE_DIR}/${file})
            string(APPEND ${kind} "${CMAKE_CURRENT_SOURCE_DIR}/${file},")
        endforeach()
    endforeach()
    set(script ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
    add_custom_command(OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -D OUT=${out} -D PREFIX=${prefix}
            -D PAGE=${CMAKE_CURRENT_SOURCE_DIR}/${page} -D STYLES=${STYLES} -D SCRIPTS=${SCRIPTS}
            -P ${script}
        DEPENDS ${files} ${CMAKE_CURRENT_SOURCE_DIR}/${page} ${script}
        COMMENT "embedding ${page}" VERBATIM)
    target_sources(${target} PRIVATE ${out})
endfunction()

function(read_all files out)
    string(REPLACE "," ";" files "${files}")
    set(all "")
    foreach(file IN LISTS files)
        file(READ "${file}" text)
        string(APPEND all "${text}")
    endforeach()
    set(${out} "${all}" PARENT_SCOPE)
endfunction()

# 'sha256-...' in base64, which CMake does not have.
function(policy_hash text out)
    string(SHA256 hex "${text}")
    string(APPEND hex 00) # 32 bytes and one: eleven groups of three
    set(letters ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    set(base64 "")
    foreach(group RANGE 0 10)
        math(EXPR at "${group} * 6")
        string(SUBSTRING ${hex} ${at} 6 bytes)
        foreach(shift 18 12 6 0)
            math(EXPR six "(0x${bytes} >> ${shift}) & 63")
            string(SUBSTRING ${letters} ${six} 1 letter)
            string(APPEND base64 ${letter})
        endforeach()
    endforeach()
    string(REGEX REPLACE ".$" "=" base64 ${base64})
    set(${out} "'sha256-${base64}'" PARENT_SCOPE)
endfunction()

function(append_array name text)
    file(WRITE ${OUT}.part "${text}")
    file(READ ${OUT}.part hex HEX)
    file(REMOVE ${OUT}.part)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    file(APPEND ${OUT}.new "const unsigned char ${name}[] = {\n${hex}};\n"
        "const size_t ${name}_size = sizeof ${name};\n")
endfunction()

function(embed_page)
    read_all("${STYLES}" style)
    read_all("${SCRIPTS}" script)
    file(READ ${PAGE} page)
    set(script "(() => {\n'use strict';\n${script}})();\n")
    policy_hash("${style}" style_hash)
    policy_hash("${script}" script_hash)
    string(REPLACE "@POLICY@" "script-src ${script_hash}; style-src ${style_hash}" page "${page}")
    string(REPLACE "@STYLE@" "${style}" page "${page}")
    string(REPLACE "@SCRIPT@" "${script}" page "${page}")
    string(FIND "${page}" "@DATA@" at)
    string(SUBSTRING "${page}" 0 ${at} head)
    math(EXPR behind "${at} + 6")
    string(SUBSTRING "${page}" ${behind} -1 tail)
    file(WRITE ${OUT}.new "// Made by cmake/embed.cmake.\n#include <stddef.h>\n"
        "extern const unsigned char ${PREFIX}_head[], ${PREFIX}_tail[];\n"
        "extern const size_t ${PREFIX}_head_size, ${PREFIX}_tail_size;\n")
    append_array(${PREFIX}_head "${head}")
    append_array(${PREFIX}_tail "${tail}")
    file(RENAME ${OUT}.new ${OUT})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
    embed_page()
endif()
