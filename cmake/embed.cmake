# Pages into a program.
#
#   ortscope_embed_page(TARGET PREFIX page.html STYLES a.css ... SCRIPTS a.js ...)
#
# page.html has the marks @STYLE@, @SCRIPT@, @POLICY@ and @DATA@. The styles and the scripts are put one
# after the other into one element each, the scripts into one function. @POLICY@ becomes the hashes by
# which a content security policy knows this script and this style, and no others. What stands before
# and behind @DATA@ becomes two arrays of bytes, PREFIX_head and PREFIX_tail, with their sizes
# (PREFIX_head_size, PREFIX_tail_size): C that is compiled into TARGET.
#
#   ortscope_embed_files(TARGET PREFIX HEADER file...)
#
# Files as they are, with their names as paths and their types, for a server: the array PREFIX_files of
# PREFIX_file, which HEADER declares (path, type, bytes, size), and PREFIX_file_count.

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
    set(page ${CMAKE_CURRENT_SOURCE_DIR}/${page})
    embed_by_script(${target} ${out} "${files};${page}"
        -D PREFIX=${prefix} -D PAGE=${page} -D STYLES=${STYLES} -D SCRIPTS=${SCRIPTS})
endfunction()

function(ortscope_embed_files target prefix header)
    string(REPLACE ";" "," files "${ARGN}")
    embed_by_script(${target} ${CMAKE_CURRENT_BINARY_DIR}/${prefix}_files.c "${ARGN}"
        -D PREFIX=${prefix} -D HEADER=${header} -D FILES=${files})
endfunction()

# What is below runs when something has changed, not while configuring.
function(embed_by_script target out files)
    set(script ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
    add_custom_command(OUTPUT ${out} COMMAND ${CMAKE_COMMAND} -D OUT=${out} ${ARGN} -P ${script}
        DEPENDS ${files} ${script} COMMENT "embedding into ${target}" VERBATIM)
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

# A file's bytes for C, in lines of 16.
function(bytes_of file out)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    set(${out} "${hex}" PARENT_SCOPE)
endfunction()

function(append_array name text)
    file(WRITE ${OUT}.part "${text}")
    bytes_of(${OUT}.part bytes)
    file(REMOVE ${OUT}.part)
    file(APPEND ${OUT}.new "const unsigned char ${name}[] = {\n${bytes}};\n"
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

function(embed_files)
    set(type.html "text/html; charset=utf-8")
    set(type.js "text/javascript; charset=utf-8")
    set(type.css "text/css; charset=utf-8")
    set(type.svg "image/svg+xml")
    string(REPLACE "," ";" FILES "${FILES}")
    set(table "")
    file(WRITE ${OUT}.new "// Made by cmake/embed.cmake.\n#include \"${HEADER}\"\n")
    foreach(file IN LISTS FILES)
        get_filename_component(name ${file} NAME)
        get_filename_component(ending ${file} LAST_EXT)
        string(MAKE_C_IDENTIFIER "file_${name}" array)
        if(NOT DEFINED type${ending})
            message(FATAL_ERROR "${file}: of which type is a ${ending}?")
        endif()
        bytes_of(${file} bytes)
        file(APPEND ${OUT}.new "static const unsigned char ${array}[] = {\n${bytes}};\n")
        string(APPEND table "    {\"/${name}\", \"${type${ending}}\", ${array}, sizeof ${array}},\n")
    endforeach()
    file(APPEND ${OUT}.new "const ${PREFIX}_file ${PREFIX}_files[] = {\n${table}};\n"
        "const size_t ${PREFIX}_file_count = sizeof ${PREFIX}_files / sizeof *${PREFIX}_files;\n")
    file(RENAME ${OUT}.new ${OUT})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND DEFINED FILES)
    embed_files()
elseif(CMAKE_SCRIPT_MODE_FILE)
    embed_page()
endif()
