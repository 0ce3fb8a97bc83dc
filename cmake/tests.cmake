# ortscope_test(NAME SOURCES a.c ... LIBS x ... [LABELS l ...] [TIMEOUT s])
# A Unity test program; on Windows builds it runs under Wine by the toolchain's emulator. Each has a
# folder of its own to run in: tests run in parallel, and what one writes is not another's.
function(ortscope_test name)
    cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE ${arg_LIBS} dep_unity ortscope_flags)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/run/${name})
    file(MAKE_DIRECTORY ${folder})
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${folder})
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 600) # for what hangs
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# ortscope_fuzzer(NAME SOURCES a.c ... LIBS x ...): built only with ORTSCOPE_FUZZ.
function(ortscope_fuzzer name)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
    if(ORTSCOPE_FUZZ)
        add_executable(${name} ${arg_SOURCES})
        target_link_libraries(${name} PRIVATE ${arg_LIBS} ortscope_flags)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    endif()
endfunction()
