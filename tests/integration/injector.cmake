# The injector's tests live in a directory of their own: the hook DLL has to lie beside the
# executable that injects it, and here that is a stub.
set(injector_dir ${CMAKE_BINARY_DIR}/injector-test)

foreach(program echo_target idle_target parent_target)
    add_executable(${program} programs/${program}.c)
    target_link_libraries(${program} PRIVATE ortscope_flags shell32)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${injector_dir})
endforeach()

function(injector_stub name directory)
    add_library(${name} SHARED stub_hook.c)
    target_link_libraries(${name} PRIVATE tl_producer ortscope_flags)
    target_compile_definitions(${name} PRIVATE ${ARGN})
    set_target_properties(${name} PROPERTIES OUTPUT_NAME ortscope_hook PREFIX ""
        RUNTIME_OUTPUT_DIRECTORY ${directory} ARCHIVE_OUTPUT_DIRECTORY ${directory})
endfunction()
injector_stub(stub_hook ${injector_dir})
injector_stub(stub_hook_old ${injector_dir}/old STUB_VERSION="0.0.9")

enable_language(RC)
foreach(stub stub_ort stub_ort_opaque)
    add_library(${stub} SHARED stub_ort.c stub_ort.rc)
    target_link_libraries(${stub} PRIVATE ortscope_flags)
    target_compile_options(${stub} PRIVATE $<$<COMPILE_LANGUAGE:C>:-O2>) # one lea, as in the real one
    set_target_properties(${stub} PROPERTIES PREFIX "" RUNTIME_OUTPUT_DIRECTORY ${injector_dir})
endforeach()
target_compile_definitions(stub_ort_opaque PRIVATE STUB_ORT_OPAQUE)

foreach(test test_injector test_injector_deaths test_injector_refusals)
    ortscope_test(${test} SOURCES ${test}.c injector_fixture.c LIBS inj_injector
        LABELS integration TIMEOUT 900)
    target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/injector/src)
    set_target_properties(${test} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${injector_dir})
    set_tests_properties(${test} PROPERTIES RESOURCE_LOCK end_to_end) # has ORTs, which others count
    add_dependencies(${test} echo_target idle_target parent_target stub_hook stub_hook_old stub_ort
        stub_ort_opaque)
endforeach()
