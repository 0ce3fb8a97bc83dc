# Tests of the .etl reader, on files that they make themselves.
foreach(test test_etl test_etl_import test_etl_tracelogging)
    ortscope_test(${test} SOURCES ${test}.c etl_maker.c LIBS co_collector TIMEOUT 300)
    target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/collector/src/etl)
endforeach()
# Event tracing in real time, on a pretended Windows.
foreach(test test_etw_session test_etw_live)
    ortscope_test(${test} SOURCES ${test}.c etl_maker.c LIBS co_collector Threads::Threads
                  LABELS threads)
    target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/collector/src
                               ${CMAKE_SOURCE_DIR}/collector/src/etw)
endforeach()
# The provider's events through a recording.
ortscope_test(test_etw_import SOURCES test_etw_import.c etl_maker.c etw_recorder.c
              LIBS co_collector tl_tracelogging)
