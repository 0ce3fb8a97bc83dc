# The timeline's tests see its internal headers: limits of the format, a reader of memory.
ortscope_test(test_timeline SOURCES test_timeline.c timeline_sample.c LIBS tm_timeline)
target_include_directories(test_timeline PRIVATE ${CMAKE_SOURCE_DIR}/timeline/src)
ortscope_test(test_timeline_damage SOURCES test_timeline_damage.c timeline_sample.c LIBS tm_timeline)
target_include_directories(test_timeline_damage PRIVATE ${CMAKE_SOURCE_DIR}/timeline/src)
ortscope_test(test_timeline_foreign SOURCES test_timeline_foreign.c LIBS tm_timeline dep_msgpack)
target_include_directories(test_timeline_foreign PRIVATE ${CMAKE_SOURCE_DIR}/timeline/src)
ortscope_test(test_mp_token SOURCES test_mp_token.c LIBS tm_timeline)
target_include_directories(test_mp_token PRIVATE ${CMAKE_SOURCE_DIR}/timeline/src)
ortscope_test(test_column SOURCES test_column.c LIBS tm_timeline)
target_include_directories(test_column PRIVATE ${CMAKE_SOURCE_DIR}/timeline/src)

add_executable(timeline_tool timeline_tool.c timeline_sample.c)
target_link_libraries(timeline_tool PRIVATE tm_timeline ortscope_flags)
if(NOT CMAKE_CROSSCOMPILING)
    # Debian's own interpreter: another python3 on the PATH may lack the module msgpack.
    add_test(NAME timeline_python
        COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/tests/gold/check_timeline.py
            $<TARGET_FILE:timeline_tool> ${CMAKE_SOURCE_DIR}/docs/timeline-format.md)
    set_tests_properties(timeline_python PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
endif()
