# Tests of the hook DLL's parts.
foreach(test test_reloc test_reloc_scan)
    ortscope_test(${test} SOURCES ${test}.c LIBS hk_reloc)
    target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
endforeach()
ortscope_test(test_shim_text SOURCES test_shim_text.c LIBS hk_scan)
target_include_directories(test_shim_text PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
ortscope_test(test_op_text SOURCES test_op_text.c LIBS hk_scan)
target_include_directories(test_op_text PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
ortscope_test(test_xxh64 SOURCES test_xxh64.c ${CMAKE_SOURCE_DIR}/hookdll/src/xxh64.c LIBS cm_common)
target_include_directories(test_xxh64 PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
if(WIN32)
    ortscope_test(test_registry
                  SOURCES test_registry.c ${CMAKE_SOURCE_DIR}/hookdll/src/registry.c
                  LIBS tl_producer)
    target_include_directories(test_registry PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
    target_link_libraries(test_registry PRIVATE hook_flags)
    set(hookdll_src ${CMAKE_SOURCE_DIR}/hookdll/src)
    ortscope_test(test_op_tables
                  SOURCES test_op_tables.c ${hookdll_src}/op_kernels.c ${hookdll_src}/op_memory.c
                          ${hookdll_src}/op_vtables.c ${hookdll_src}/vtable_slots.c
                  LIBS hk_scan tl_producer ntdll)
    target_include_directories(test_op_tables PRIVATE ${hookdll_src})
    target_link_libraries(test_op_tables PRIVATE hook_flags)
    ortscope_test(test_shim_kernels
                  SOURCES test_shim_kernels.c ${hookdll_src}/shim_kernels.c
                          ${hookdll_src}/op_kernels.c ${hookdll_src}/xxh64.c
                  LIBS hk_scan tl_producer ntdll)
    target_include_directories(test_shim_kernels PRIVATE ${hookdll_src})
    target_link_libraries(test_shim_kernels PRIVATE hook_flags)
    ortscope_test(test_op_owner SOURCES test_op_owner.c ${hookdll_src}/op_owner.c
                  LIBS hk_scan tl_producer ntdll)
    target_include_directories(test_op_owner PRIVATE ${hookdll_src})
    target_link_libraries(test_op_owner PRIVATE hook_flags)
    ortscope_test(test_alloc_arenas
                  SOURCES test_alloc_arenas.c ${hookdll_src}/alloc_arenas.c ${hookdll_src}/op_memory.c
                          ${hookdll_src}/registry.c
                  LIBS hk_scan tl_producer ntdll)
    target_include_directories(test_alloc_arenas PRIVATE ${hookdll_src})
    target_link_libraries(test_alloc_arenas PRIVATE hook_flags)
    ortscope_test(test_alloc_owner SOURCES test_alloc_owner.c ${hookdll_src}/alloc_owner.c
                  LIBS hk_scan tl_producer ntdll)
    target_include_directories(test_alloc_owner PRIVATE ${hookdll_src})
    target_link_libraries(test_alloc_owner PRIVATE hook_flags)
    ortscope_test(test_alloc_hook
                  SOURCES test_alloc_hook.c ${hookdll_src}/alloc_hook.c ${hookdll_src}/alloc_owner.c
                  LIBS hk_scan tl_producer ntdll)
    target_include_directories(test_alloc_hook PRIVATE ${hookdll_src})
    target_link_libraries(test_alloc_hook PRIVATE hook_flags)
    ortscope_test(test_etw_journal SOURCES test_etw_journal.c ${hookdll_src}/etw_journal.c
                  LIBS tl_producer ntdll)
    target_include_directories(test_etw_journal PRIVATE ${hookdll_src})
    target_link_libraries(test_etw_journal PRIVATE hook_flags)
    ortscope_test(test_tap_provider SOURCES test_tap_provider.c ${hookdll_src}/tap_provider.c
                  LIBS hk_tap tl_producer ntdll)
    target_include_directories(test_tap_provider PRIVATE ${hookdll_src})
    target_link_libraries(test_tap_provider PRIVATE hook_flags)
    ortscope_test(test_tap_runs SOURCES test_tap_runs.c ${hookdll_src}/tap_runs.c
                  LIBS hk_tap tl_producer ntdll)
    target_include_directories(test_tap_runs PRIVATE ${hookdll_src})
    target_link_libraries(test_tap_runs PRIVATE hook_flags)
    ortscope_test(test_tap_write SOURCES test_tap_write.c ${hookdll_src}/tap_write.c
                  LIBS hk_tap tl_producer ntdll)
    target_include_directories(test_tap_write PRIVATE ${hookdll_src})
    target_link_libraries(test_tap_write PRIVATE hook_flags)
    ortscope_test(test_sessions
                  SOURCES test_sessions.c ${hookdll_src}/op_kernels.c ${hookdll_src}/registry.c
                          ${hookdll_src}/sessions.c ${hookdll_src}/sessions_hidden.c
                          ${hookdll_src}/xxh64.c
                  LIBS cm_common tl_producer ntdll)
    target_include_directories(test_sessions PRIVATE ${hookdll_src})
    target_link_libraries(test_sessions PRIVATE hook_flags)
    add_test(NAME check_imports COMMAND ${CMAKE_COMMAND} -DOBJDUMP=${CMAKE_OBJDUMP}
        -DDLL=$<TARGET_FILE:ortscope_hook> -P ${CMAKE_CURRENT_LIST_DIR}/check_imports.cmake)
    ortscope_test(test_detour SOURCES test_detour.c detour_code.c LIBS hk_detour)
    ortscope_test(test_detour_threads SOURCES test_detour_threads.c detour_code.c LIBS hk_detour
                  TIMEOUT 1800)
endif()
ortscope_test(test_tap_decode SOURCES test_tap_decode.c LIBS hk_tap)
target_include_directories(test_tap_decode PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
ortscope_test(test_alloc_addresses SOURCES test_alloc_addresses.c LIBS hk_scan Threads::Threads
              LABELS threads)
target_include_directories(test_alloc_addresses PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
# Finding kernels, on made-up images and on every onnxruntime.dll that scripts/targets has fetched.
ortscope_test(test_op_scan SOURCES test_op_scan.c LIBS hk_scan)
target_include_directories(test_op_scan PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
add_executable(test_op_scan_real test_op_scan_real.c)
target_link_libraries(test_op_scan_real PRIVATE hk_scan dep_unity ortscope_flags)
target_include_directories(test_op_scan_real PRIVATE ${CMAKE_SOURCE_DIR}/hookdll/src)
add_test(NAME test_op_scan_real COMMAND test_op_scan_real ${CMAKE_SOURCE_DIR}/build/targets)
set_tests_properties(test_op_scan_real PROPERTIES LABELS integration TIMEOUT 300
    SKIP_RETURN_CODE 77)
