# Tests of the hook DLL's parts.
ortscope_test(test_reloc SOURCES test_reloc.c LIBS hk_reloc)
target_include_directories(test_reloc PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
if(WIN32)
    ortscope_test(test_detour SOURCES test_detour.c detour_code.c LIBS hk_detour)
    ortscope_test(test_detour_threads SOURCES test_detour_threads.c detour_code.c LIBS hk_detour
                  TIMEOUT 600)
endif()
