# Compiler flags for our own code, and the one way to declare a layer.

add_library(ortscope_flags INTERFACE)
target_compile_options(ortscope_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wvla -Werror -fno-strict-aliasing)
target_compile_definitions(ortscope_flags INTERFACE
    ORTSCOPE_VERSION="${PROJECT_VERSION}")
if(WIN32)
    # Windows 10 is the oldest system supported; printf follows C11 instead of msvcrt.
    target_compile_definitions(ortscope_flags INTERFACE
        _WIN32_WINNT=0x0A00 UNICODE _UNICODE WIN32_LEAN_AND_MEAN NOMINMAX __USE_MINGW_ANSI_STDIO=1)
    target_link_options(ortscope_flags INTERFACE -static)
else()
    target_compile_definitions(ortscope_flags INTERFACE _GNU_SOURCE)
endif()
if(ORTSCOPE_SANITIZE)
    add_compile_options(-fsanitize=${ORTSCOPE_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${ORTSCOPE_SANITIZE})
endif()

# ortscope_library(NAME SOURCES a.c ... [WIN32 w.c ...] [POSIX p.c ...] [LIBS x ...])
# A static library with the folder's include/ directory public. LIBS states what the layer may use.
function(ortscope_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;WIN32;POSIX;LIBS" ${ARGN})
    set(sources ${arg_SOURCES})
    if(WIN32)
        list(APPEND sources ${arg_WIN32})
    else()
        list(APPEND sources ${arg_POSIX})
    endif()
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC include PRIVATE src)
    target_link_libraries(${name} PUBLIC ${arg_LIBS} PRIVATE ortscope_flags)
endfunction()
