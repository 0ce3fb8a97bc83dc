// SPDX-License-Identifier: MIT
// The part of ONNX Runtime's C API that the driver calls, in our own declarations: slot number,
// the 1.x version that brought it, result, name and parameters. No header of ONNX Runtime is
// needed; a call that the loaded version lacks stays NULL.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtIoBinding OrtIoBinding;
typedef struct OrtShapeInfo OrtShapeInfo;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtThreadingOptions OrtThreadingOptions;
typedef struct OrtPrepacked OrtPrepacked;
typedef struct OrtValueInfo OrtValueInfo;
typedef struct OrtNode OrtNode;
typedef struct OrtGraph OrtGraph;
typedef struct OrtModel OrtModel;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtArenaCfg OrtArenaCfg;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;
struct custom_op;
struct OrtKernelContext;
struct OrtKernelInfo;

typedef void (*ort_slot)(void);

// A copy of a runtime in which OrtGetApiBase has this name instead (of the same place in the
// alphabet) is, to all others, a module with ONNX Runtime inside and no C API.
#define ORT_HIDDEN_EXPORT "OrtGetApiBasX"
typedef void (*ort_log_fn)(void *param, int severity, const char *category, const char *log_id,
                           const char *location, const char *message);
typedef void (*ort_async_fn)(void *user_data, OrtValue **outputs, size_t count, OrtStatus *status);

// ONNXTensorElementDataType and ONNXType, as far as used
enum { ORT_FLOAT = 1, ORT_INT64 = 7 };
enum { ORT_TENSOR = 1, ORT_SEQUENCE = 2 };

typedef struct ort_env_options {
    uint32_t version;
    int32_t severity;
    const char *log_id;
    ort_log_fn log;
    void *log_param;
    const OrtThreadingOptions *threading;
    const void *config_entries;
} ort_env_options;

// clang-format off
#define ORT_CALLS(X) \
    X(1, 0, int, GetErrorCode, (const OrtStatus *)) \
    X(2, 0, const char *, GetErrorMessage, (const OrtStatus *)) \
    X(3, 0, OrtStatus *, CreateEnv, (int, const char *, OrtEnv **)) \
    X(4, 0, OrtStatus *, CreateEnvWithCustomLogger, \
      (ort_log_fn, void *, int, const char *, OrtEnv **)) \
    X(7, 0, OrtStatus *, CreateSession, \
      (const OrtEnv *, const wchar_t *, const OrtSessionOptions *, OrtSession **)) \
    X(8, 0, OrtStatus *, CreateSessionFromArray, \
      (const OrtEnv *, const void *, size_t, const OrtSessionOptions *, OrtSession **)) \
    X(9, 0, OrtStatus *, Run, \
      (OrtSession *, const OrtRunOptions *, const char *const *, const OrtValue *const *, size_t, \
       const char *const *, size_t, OrtValue **)) \
    X(10, 0, OrtStatus *, CreateSessionOptions, (OrtSessionOptions **)) \
    X(11, 0, OrtStatus *, SetOptimizedModelFilePath, (OrtSessionOptions *, const wchar_t *)) \
    X(12, 0, OrtStatus *, CloneSessionOptions, (const OrtSessionOptions *, OrtSessionOptions **)) \
    X(13, 0, OrtStatus *, SetSessionExecutionMode, (OrtSessionOptions *, int)) \
    X(14, 0, OrtStatus *, EnableProfiling, (OrtSessionOptions *, const wchar_t *)) \
    X(15, 0, OrtStatus *, DisableProfiling, (OrtSessionOptions *)) \
    X(16, 0, OrtStatus *, EnableMemPattern, (OrtSessionOptions *)) \
    X(17, 0, OrtStatus *, DisableMemPattern, (OrtSessionOptions *)) \
    X(18, 0, OrtStatus *, EnableCpuMemArena, (OrtSessionOptions *)) \
    X(19, 0, OrtStatus *, DisableCpuMemArena, (OrtSessionOptions *)) \
    X(20, 0, OrtStatus *, SetSessionLogId, (OrtSessionOptions *, const char *)) \
    X(22, 0, OrtStatus *, SetSessionLogSeverityLevel, (OrtSessionOptions *, int)) \
    X(23, 0, OrtStatus *, SetSessionGraphOptimizationLevel, (OrtSessionOptions *, int)) \
    X(24, 0, OrtStatus *, SetIntraOpNumThreads, (OrtSessionOptions *, int)) \
    X(25, 0, OrtStatus *, SetInterOpNumThreads, (OrtSessionOptions *, int)) \
    X(26, 0, OrtStatus *, CreateCustomOpDomain, (const char *, OrtCustomOpDomain **)) \
    X(27, 0, OrtStatus *, CustomOpDomain_Add, (OrtCustomOpDomain *, const struct custom_op *)) \
    X(28, 0, OrtStatus *, AddCustomOpDomain, (OrtSessionOptions *, OrtCustomOpDomain *)) \
    X(39, 0, OrtStatus *, CreateRunOptions, (OrtRunOptions **)) \
    X(42, 0, OrtStatus *, RunOptionsSetRunTag, (OrtRunOptions *, const char *)) \
    X(46, 0, OrtStatus *, RunOptionsSetTerminate, (OrtRunOptions *)) \
    X(48, 0, OrtStatus *, CreateTensorAsOrtValue, \
      (OrtAllocator *, const int64_t *, size_t, int, OrtValue **)) \
    X(49, 0, OrtStatus *, CreateTensorWithDataAsOrtValue, \
      (const OrtMemoryInfo *, void *, size_t, const int64_t *, size_t, int, OrtValue **)) \
    X(51, 0, OrtStatus *, GetTensorMutableData, (OrtValue *, void **)) \
    X(57, 0, OrtStatus *, CreateTensorTypeAndShapeInfo, (OrtShapeInfo **)) \
    X(58, 0, OrtStatus *, SetTensorElementType, (OrtShapeInfo *, int)) \
    X(59, 0, OrtStatus *, SetDimensions, (OrtShapeInfo *, const int64_t *, size_t)) \
    X(60, 0, OrtStatus *, GetTensorElementType, (const OrtShapeInfo *, int *)) \
    X(61, 0, OrtStatus *, GetDimensionsCount, (const OrtShapeInfo *, size_t *)) \
    X(62, 0, OrtStatus *, GetDimensions, (const OrtShapeInfo *, int64_t *, size_t)) \
    X(65, 0, OrtStatus *, GetTensorTypeAndShape, (const OrtValue *, OrtShapeInfo **)) \
    X(67, 0, OrtStatus *, GetValueType, (const OrtValue *, int *)) \
    X(69, 0, OrtStatus *, CreateCpuMemoryInfo, (int, int, OrtMemoryInfo **)) \
    X(75, 0, OrtStatus *, AllocatorAlloc, (OrtAllocator *, size_t, void **)) \
    X(76, 0, OrtStatus *, AllocatorFree, (OrtAllocator *, void *)) \
    X(78, 0, OrtStatus *, GetAllocatorWithDefaultOptions, (OrtAllocator **)) \
    X(91, 0, OrtStatus *, KernelContext_GetOutput, \
      (struct OrtKernelContext *, size_t, const int64_t *, size_t, OrtValue **)) \
    X(92, 0, void, ReleaseEnv, (OrtEnv *)) \
    X(93, 0, void, ReleaseStatus, (OrtStatus *)) \
    X(94, 0, void, ReleaseMemoryInfo, (OrtMemoryInfo *)) \
    X(95, 0, void, ReleaseSession, (OrtSession *)) \
    X(96, 0, void, ReleaseValue, (OrtValue *)) \
    X(97, 0, void, ReleaseRunOptions, (OrtRunOptions *)) \
    X(98, 0, void, ReleaseTypeInfo, (OrtTypeInfo *)) \
    X(99, 0, void, ReleaseTensorTypeAndShapeInfo, (OrtShapeInfo *)) \
    X(100, 0, void, ReleaseSessionOptions, (OrtSessionOptions *)) \
    X(101, 0, void, ReleaseCustomOpDomain, (OrtCustomOpDomain *)) \
    X(119, 3, OrtStatus *, CreateEnvWithGlobalThreadPools, \
      (int, const char *, const OrtThreadingOptions *, OrtEnv **)) \
    X(120, 3, OrtStatus *, DisablePerSessionThreads, (OrtSessionOptions *)) \
    X(121, 3, OrtStatus *, CreateThreadingOptions, (OrtThreadingOptions **)) \
    X(122, 3, void, ReleaseThreadingOptions, (OrtThreadingOptions *)) \
    X(130, 5, OrtStatus *, AddSessionConfigEntry, \
      (OrtSessionOptions *, const char *, const char *)) \
    X(131, 5, OrtStatus *, CreateAllocator, \
      (const OrtSession *, const OrtMemoryInfo *, OrtAllocator **)) \
    X(132, 5, void, ReleaseAllocator, (OrtAllocator *)) \
    X(133, 5, OrtStatus *, RunWithBinding, \
      (OrtSession *, const OrtRunOptions *, const OrtIoBinding *)) \
    X(134, 5, OrtStatus *, CreateIoBinding, (OrtSession *, OrtIoBinding **)) \
    X(135, 5, void, ReleaseIoBinding, (OrtIoBinding *)) \
    X(136, 5, OrtStatus *, BindInput, (OrtIoBinding *, const char *, const OrtValue *)) \
    X(137, 5, OrtStatus *, BindOutput, (OrtIoBinding *, const char *, const OrtValue *)) \
    X(138, 5, OrtStatus *, BindOutputToDevice, \
      (OrtIoBinding *, const char *, const OrtMemoryInfo *)) \
    X(140, 5, OrtStatus *, GetBoundOutputValues, \
      (const OrtIoBinding *, OrtAllocator *, OrtValue ***, size_t *)) \
    X(141, 5, void, ClearBoundInputs, (OrtIoBinding *)) \
    X(142, 5, void, ClearBoundOutputs, (OrtIoBinding *)) \
    X(144, 5, OrtStatus *, CreateAndRegisterAllocator, \
      (OrtEnv *, const OrtMemoryInfo *, const OrtArenaCfg *)) \
    X(147, 5, OrtStatus *, SetGlobalIntraOpNumThreads, (OrtThreadingOptions *, int)) \
    X(148, 5, OrtStatus *, SetGlobalInterOpNumThreads, (OrtThreadingOptions *, int)) \
    X(149, 5, OrtStatus *, SetGlobalSpinControl, (OrtThreadingOptions *, int)) \
    X(151, 6, OrtStatus *, CreateEnvWithCustomLoggerAndGlobalThreadPools, \
      (ort_log_fn, void *, int, const char *, const OrtThreadingOptions *, OrtEnv **)) \
    X(156, 8, OrtStatus *, CreateArenaCfg, (size_t, int, int, int, OrtArenaCfg **)) \
    X(157, 8, void, ReleaseArenaCfg, (OrtArenaCfg *)) \
    X(165, 8, OrtStatus *, AddRunConfigEntry, (OrtRunOptions *, const char *, const char *)) \
    X(166, 8, OrtStatus *, CreatePrepackedWeightsContainer, (OrtPrepacked **)) \
    X(167, 8, void, ReleasePrepackedWeightsContainer, (OrtPrepacked *)) \
    X(168, 8, OrtStatus *, CreateSessionWithPrepackedWeightsContainer, \
      (const OrtEnv *, const wchar_t *, const OrtSessionOptions *, OrtPrepacked *, \
       OrtSession **)) \
    X(169, 8, OrtStatus *, CreateSessionFromArrayWithPrepackedWeightsContainer, \
      (const OrtEnv *, const void *, size_t, const OrtSessionOptions *, OrtPrepacked *, \
       OrtSession **)) \
    X(192, 10, OrtStatus *, HasValue, (const OrtValue *, int *)) \
    X(216, 12, OrtStatus *, SessionOptionsAppendExecutionProvider, \
      (OrtSessionOptions *, const char *, const char *const *, const char *const *, size_t)) \
    X(217, 12, OrtStatus *, CopyKernelInfo, \
      (const struct OrtKernelInfo *, struct OrtKernelInfo **)) \
    X(218, 12, void, ReleaseKernelInfo, (struct OrtKernelInfo *)) \
    X(253, 15, OrtStatus *, KernelContext_GetAllocator, \
      (const struct OrtKernelContext *, const OrtMemoryInfo *, OrtAllocator **)) \
    X(260, 16, OrtStatus *, RunAsync, \
      (OrtSession *, const OrtRunOptions *, const char *const *, const OrtValue *const *, size_t, \
       const char *const *, size_t, OrtValue **, ort_async_fn, void *)) \
    X(285, 22, void, ReleaseValueInfo, (OrtValueInfo *)) \
    X(286, 22, void, ReleaseNode, (OrtNode *)) \
    X(287, 22, void, ReleaseGraph, (OrtGraph *)) \
    X(288, 22, void, ReleaseModel, (OrtModel *)) \
    X(291, 22, const ort_slot *, GetModelEditorApi, (void)) \
    X(294, 22, const ort_slot *, GetCompileApi, (void)) \
    X(298, 22, void, GetKeyValuePairs, \
      (const OrtKeyValuePairs *, const char *const **, const char *const **, size_t *)) \
    X(300, 22, void, ReleaseKeyValuePairs, (OrtKeyValuePairs *)) \
    X(319, 23, OrtStatus *, AllocatorGetStats, (const OrtAllocator *, OrtKeyValuePairs **)) \
    X(305, 22, OrtStatus *, SessionOptionsSetEpSelectionPolicy, (OrtSessionOptions *, int)) \
    X(406, 24, OrtStatus *, CreateEnvWithOptions, (const ort_env_options *, OrtEnv **))

// Slots of the table that GetModelEditorApi gives (1.22 and later)
#define ORT_EDITOR_CALLS(X) \
    X(0, 22, OrtStatus *, CreateTensorTypeInfo, (const OrtShapeInfo *, OrtTypeInfo **)) \
    X(5, 22, OrtStatus *, CreateValueInfo, (const char *, const OrtTypeInfo *, OrtValueInfo **)) \
    X(6, 22, OrtStatus *, CreateNode, \
      (const char *, const char *, const char *, const char *const *, size_t, \
       const char *const *, size_t, OrtOpAttr **, size_t, OrtNode **)) \
    X(7, 22, OrtStatus *, CreateGraph, (OrtGraph **)) \
    X(8, 22, OrtStatus *, SetGraphInputs, (OrtGraph *, OrtValueInfo **, size_t)) \
    X(9, 22, OrtStatus *, SetGraphOutputs, (OrtGraph *, OrtValueInfo **, size_t)) \
    X(11, 22, OrtStatus *, AddNodeToGraph, (OrtGraph *, OrtNode *)) \
    X(12, 22, OrtStatus *, CreateModel, \
      (const char *const *, const int *, size_t, OrtModel **)) \
    X(13, 22, OrtStatus *, AddGraphToModel, (OrtModel *, OrtGraph *)) \
    X(14, 22, OrtStatus *, CreateSessionFromModel, \
      (const OrtEnv *, const OrtModel *, const OrtSessionOptions *, OrtSession **)) \
    X(15, 22, OrtStatus *, CreateModelEditorSession, \
      (const OrtEnv *, const wchar_t *, const OrtSessionOptions *, OrtSession **)) \
    X(16, 22, OrtStatus *, CreateModelEditorSessionFromArray, \
      (const OrtEnv *, const void *, size_t, const OrtSessionOptions *, OrtSession **)) \
    X(19, 22, OrtStatus *, FinalizeModelEditorSession, \
      (OrtSession *, const OrtSessionOptions *, OrtPrepacked *))
// clang-format on

typedef struct ort_calls {
#define X(slot, since, result, name, parameters) result(*name) parameters;
    ORT_CALLS(X)
    ORT_EDITOR_CALLS(X)
#undef X
} ort_calls;
