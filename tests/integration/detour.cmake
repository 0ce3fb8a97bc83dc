# The detour engine on every onnxruntime.dll that scripts/targets has fetched by the time it runs.
add_executable(test_ort_detour test_ort_detour.c)
target_link_libraries(test_ort_detour PRIVATE hk_detour dep_unity ortscope_flags)
target_link_options(test_ort_detour PRIVATE -municode)
add_test(NAME test_ort_detour COMMAND test_ort_detour ${CMAKE_SOURCE_DIR}/build/targets)
set_tests_properties(test_ort_detour PROPERTIES LABELS integration TIMEOUT 600 SKIP_RETURN_CODE 77
    RESOURCE_LOCK end_to_end) # has ORTs, which others count
