# Tests of tracelogging/, which also use its private headers.
find_package(Threads REQUIRED)
function(ortscope_tracelogging_test name)
    ortscope_test(${name} SOURCES ${name}.c LIBS tl_tracelogging Threads::Threads ${ARGN})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tracelogging/src)
endfunction()
ortscope_tracelogging_test(test_channel)
ortscope_tracelogging_test(test_channel_death)
ortscope_tracelogging_test(test_channel_hostile)
ortscope_tracelogging_test(test_channel_threads LABELS threads)
ortscope_tracelogging_test(test_etw_threads LABELS threads)
ortscope_tracelogging_test(test_codec)
ortscope_tracelogging_test(test_metadata)
ortscope_test(test_etw_provider SOURCES test_etw_provider.c etw_recorder.c LIBS tl_tracelogging)
ortscope_test(test_events_doc SOURCES test_events_doc.c LIBS tl_docs)
target_compile_definitions(test_events_doc PRIVATE
    EVENTS_DOC_PATH="${CMAKE_SOURCE_DIR}/docs/events.md")

# The producer half goes into the hook DLL without a C library. Sanitizers add calls of their own.
if(NOT ORTSCOPE_SANITIZE)
    add_test(NAME check_freestanding COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM}
        -DLIBRARY=$<TARGET_FILE:tl_producer> -P ${CMAKE_CURRENT_LIST_DIR}/check_freestanding.cmake)
endif()
