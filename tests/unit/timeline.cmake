# The timeline's tests see its internal headers: limits of the format, a reader of memory.
ortscope_test(test_timeline SOURCES test_timeline.c timeline_sample.c LIBS tm_timeline)
target_include_directories(test_timeline PRIVATE ${CMAKE_SOURCE_DIR}/timeline/src)
ortscope_test(test_timeline_damage SOURCES test_timeline_damage.c timeline_sample.c LIBS tm_timeline)
target_include_directories(test_timeline_damage PRIVATE ${CMAKE_SOURCE_DIR}/timeline/src)
