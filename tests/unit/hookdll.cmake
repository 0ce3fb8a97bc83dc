# Tests of the hook DLL's parts.
foreach(test test_reloc test_reloc_scan)
    ortscope_test(${test} SOURCES ${test}.c LIBS hk_reloc)
    target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
endforeach()
if(WIN32)
    ortscope_test(test_detour SOURCES test_detour.c detour_code.c LIBS hk_detour)
    ortscope_test(test_detour_threads SOURCES test_detour_threads.c detour_code.c LIBS hk_detour
                  TIMEOUT 600)
endif()
