// SPDX-License-Identifier: MIT
// Every function of ONNX Runtime that we intercept: one row each. To see another one, add a row
// here and write its hook (hooks_*.c); nothing else needs to know.
//
// XX(name, table, place, since)
//   table  API: slot of OrtApi; EDITOR: slot of OrtModelEditorApi; EXPORT: exported by name;
//          LITERAL: the only function that mentions this text (phases.c)
//   place  slot number, or the text
//   since  minor version that brought it
// OPTION rows are functions whose first parameter is an OrtSessionOptions and that take at most
// four register-sized parameters: they share one hook (hooks_options.c), which finds what to note
// in the row's last three columns: how to read the parameters, key, value.
#pragma once

#define HK_API_CORE(XX)                                                                            \
    XX(CreateEnv, API, 3, 0)                                                                       \
    XX(CreateEnvWithCustomLogger, API, 4, 0)                                                       \
    XX(CreateEnvWithGlobalThreadPools, API, 119, 3)                                                \
    XX(CreateEnvWithCustomLoggerAndGlobalThreadPools, API, 151, 6)                                 \
    XX(CreateEnvWithOptions, API, 406, 24)                                                         \
    XX(ReleaseEnv, API, 92, 0)                                                                     \
    XX(CreateSession, API, 7, 0)                                                                   \
    XX(CreateSessionFromArray, API, 8, 0)                                                          \
    XX(CreateSessionWithPrepackedWeightsContainer, API, 168, 8)                                    \
    XX(CreateSessionFromArrayWithPrepackedWeightsContainer, API, 169, 8)                           \
    XX(CreateSessionFromModel, EDITOR, 14, 22)                                                     \
    XX(CreateModelEditorSession, EDITOR, 15, 22)                                                   \
    XX(CreateModelEditorSessionFromArray, EDITOR, 16, 22)                                          \
    XX(FinalizeModelEditorSession, EDITOR, 19, 22)                                                 \
    XX(ReleaseSession, API, 95, 0)                                                                 \
    XX(Run, API, 9, 0)                                                                             \
    XX(RunWithBinding, API, 133, 5)                                                                \
    XX(RunAsync, API, 260, 16)                                                                     \
    XX(BindInput, API, 136, 5)                                                                     \
    XX(ClearBoundInputs, API, 141, 5)                                                              \
    XX(BindOutput, API, 137, 5)                                                                    \
    XX(BindOutputToDevice, API, 138, 5)                                                            \
    XX(ClearBoundOutputs, API, 142, 5)                                                             \
    XX(ReleaseIoBinding, API, 135, 5)                                                              \
    XX(CreateSessionOptions, API, 10, 0)                                                           \
    XX(CloneSessionOptions, API, 12, 0)                                                            \
    XX(ReleaseSessionOptions, API, 100, 0)                                                         \
    XX(SessionOptionsAppendExecutionProvider, API, 216, 12)                                        \
    XX(SessionOptionsAppendExecutionProvider_V2, API, 304, 22)                                     \
    XX(Initialize, LITERAL, "Initializing session.", 0)                                            \
    XX(SaveInitializedTensors, LITERAL, "Saving initialized tensors.", 0)                          \
    XX(CreateRunOptions, API, 39, 0)                                                               \
    XX(ReleaseRunOptions, API, 97, 0)                                                              \
    XX(RunOptionsEnableProfiling, API, 415, 25)                                                    \
    XX(RunOptionsDisableProfiling, API, 416, 25)                                                   \
    XX(AllocatorAlloc, API, 75, 0)

// reading: NONE key=value | INT key=number | UTF8 key=text | UTF16 key=text | PAIR text=text |
//          DIM free dimension text=number | PROVIDER appends `value` to the list of providers
#define HK_API_OPTION(XX)                                                                          \
    XX(SetOptimizedModelFilePath, API, 11, 0, UTF16, "optimized_model_path", "")                   \
    XX(SetSessionExecutionMode, API, 13, 0, INT, "execution_mode", "")                             \
    XX(EnableProfiling, API, 14, 0, UTF16, "profiling", "")                                        \
    XX(DisableProfiling, API, 15, 0, NONE, "profiling", "off")                                     \
    XX(EnableMemPattern, API, 16, 0, NONE, "mem_pattern", "on")                                    \
    XX(DisableMemPattern, API, 17, 0, NONE, "mem_pattern", "off")                                  \
    XX(EnableCpuMemArena, API, 18, 0, NONE, "cpu_mem_arena", "on")                                 \
    XX(DisableCpuMemArena, API, 19, 0, NONE, "cpu_mem_arena", "off")                               \
    XX(SetSessionLogId, API, 20, 0, UTF8, "log_id", "")                                            \
    XX(SetSessionLogVerbosityLevel, API, 21, 0, INT, "log_verbosity", "")                          \
    XX(SetSessionLogSeverityLevel, API, 22, 0, INT, "log_severity", "")                            \
    XX(SetSessionGraphOptimizationLevel, API, 23, 0, INT, "graph_optimization_level", "")          \
    XX(SetIntraOpNumThreads, API, 24, 0, INT, "intra_op_threads", "")                              \
    XX(SetInterOpNumThreads, API, 25, 0, INT, "inter_op_threads", "")                              \
    XX(RegisterCustomOpsLibrary, API, 29, 0, UTF8, "custom_ops_library", "")                       \
    XX(AddFreeDimensionOverride, API, 79, 0, DIM, "free_dimension_denotation.", "")                \
    XX(DisablePerSessionThreads, API, 120, 3, NONE, "per_session_threads", "off")                  \
    XX(AddFreeDimensionOverrideByName, API, 124, 3, DIM, "free_dimension.", "")                    \
    XX(AddSessionConfigEntry, API, 130, 5, PAIR, "", "")                                           \
    XX(RegisterCustomOpsLibrary_V2, API, 228, 14, UTF16, "custom_ops_library", "")                 \
    XX(SetDeterministicCompute, API, 273, 17, INT, "deterministic_compute", "")                    \
    XX(Append_CUDA, API, 152, 8, PROVIDER, "", "CUDAExecutionProvider")                            \
    XX(Append_ROCM, API, 153, 8, PROVIDER, "", "ROCMExecutionProvider")                            \
    XX(Append_OpenVINO, API, 154, 8, PROVIDER, "", "OpenVINOExecutionProvider")                    \
    XX(Append_TensorRT, API, 159, 8, PROVIDER, "", "TensorrtExecutionProvider")                    \
    XX(Append_TensorRT_V2, API, 170, 9, PROVIDER, "", "TensorrtExecutionProvider")                 \
    XX(Append_CUDA_V2, API, 204, 11, PROVIDER, "", "CUDAExecutionProvider")                        \
    XX(Append_MIGraphX, API, 209, 11, PROVIDER, "", "MIGraphXExecutionProvider")                   \
    XX(Append_CANN, API, 220, 13, PROVIDER, "", "CANNExecutionProvider")                           \
    XX(Append_Dnnl, API, 239, 15, PROVIDER, "", "DnnlExecutionProvider")                           \
    XX(Append_OpenVINO_V2, API, 275, 17, PROVIDER, "", "OpenVINOExecutionProvider")                \
    XX(Append_VitisAI, API, 276, 18, PROVIDER, "", "VitisAIExecutionProvider")                     \
    XX(SetEpSelectionPolicy, API, 305, 22, INT, "ep_selection_policy", "")                         \
    XX(SetEpSelectionPolicyDelegate, API, 306, 22, NONE, "ep_selection_policy", "delegate")        \
    XX(Export_CPU, EXPORT, "OrtSessionOptionsAppendExecutionProvider_CPU", 0, PROVIDER, "",        \
       "CPUExecutionProvider")                                                                     \
    XX(Export_DML, EXPORT, "OrtSessionOptionsAppendExecutionProvider_DML", 0, PROVIDER, "",        \
       "DmlExecutionProvider")                                                                     \
    XX(Export_DMLEx, EXPORT, "OrtSessionOptionsAppendExecutionProviderEx_DML", 0, PROVIDER, "",    \
       "DmlExecutionProvider")                                                                     \
    XX(Export_CUDA, EXPORT, "OrtSessionOptionsAppendExecutionProvider_CUDA", 0, PROVIDER, "",      \
       "CUDAExecutionProvider")                                                                    \
    XX(Export_Tensorrt, EXPORT, "OrtSessionOptionsAppendExecutionProvider_Tensorrt", 0, PROVIDER,  \
       "", "TensorrtExecutionProvider")                                                            \
    XX(Export_OpenVINO, EXPORT, "OrtSessionOptionsAppendExecutionProvider_OpenVINO", 0, PROVIDER,  \
       "", "OpenVINOExecutionProvider")                                                            \
    XX(Export_Dnnl, EXPORT, "OrtSessionOptionsAppendExecutionProvider_Dnnl", 0, PROVIDER, "",      \
       "DnnlExecutionProvider")

typedef enum hk_api {
#define XX(name, ...) HK_API_##name,
    HK_API_CORE(XX) HK_API_OPTION(XX)
#undef XX
        HK_API_COUNT
} hk_api;

// A hook has to know which of several ONNX Runtimes called it: each row has one entry point per
// module slot. HK_HOOK defines them for
//     static RET hook_NAME(hk_module *m, PARAMS)      with    ARGS = the names of PARAMS
// and the array NAME_entries that the table (api_table.c) refers to.
#define HK_UNWRAP(...) __VA_ARGS__
#define HK_ENTRY(name, n, ret, params, args)                                                       \
    static ret name##_entry_##n(HK_UNWRAP params)                                                  \
    {                                                                                              \
        return hook_##name(&g_hk.modules[n], HK_UNWRAP args);                                      \
    }
#define HK_ENTRIES(name)                                                                           \
    void *const hk_entries_##name[HK_MODULES_MAX] = {                                              \
        (void *)name##_entry_0, (void *)name##_entry_1, (void *)name##_entry_2,                    \
        (void *)name##_entry_3, (void *)name##_entry_4, (void *)name##_entry_5,                    \
        (void *)name##_entry_6, (void *)name##_entry_7};
#define HK_HOOK(name, ret, params, args)                                                           \
    typedef ret name##_fn(HK_UNWRAP params);                                                       \
    static ret hook_##name(hk_module *m, HK_UNWRAP params);                                        \
    HK_ENTRY(name, 0, ret, params, args)                                                           \
    HK_ENTRY(name, 1, ret, params, args)                                                           \
    HK_ENTRY(name, 2, ret, params, args)                                                           \
    HK_ENTRY(name, 3, ret, params, args)                                                           \
    HK_ENTRY(name, 4, ret, params, args)                                                           \
    HK_ENTRY(name, 5, ret, params, args)                                                           \
    HK_ENTRY(name, 6, ret, params, args)                                                           \
    HK_ENTRY(name, 7, ret, params, args)                                                           \
    HK_ENTRIES(name)                                                                               \
    static ret hook_##name(hk_module *m, HK_UNWRAP params)

// The way to ORT from inside a hook.
#define HK_ORIG(m, name) ((name##_fn *)(m)->orig[HK_API_##name])

typedef enum hk_table { HK_TABLE_API, HK_TABLE_EDITOR, HK_TABLE_EXPORT, HK_TABLE_LITERAL } hk_table;
typedef enum hk_reading {
    HK_READ_NONE,
    HK_READ_INT,
    HK_READ_UTF8,
    HK_READ_UTF16,
    HK_READ_PAIR,
    HK_READ_DIM,
    HK_READ_PROVIDER,
} hk_reading;

typedef struct hk_api_row {
    const char *name;
    hk_table table;
    int slot;
    const char *text; // exported name or literal
    int since;
    void *const *entries;
    hk_reading reading;
    const char *key, *value;
} hk_api_row;

extern const hk_api_row hk_api_rows[];
