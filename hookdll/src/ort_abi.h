// SPDX-License-Identifier: MIT
// The part of ONNX Runtime's C interface that crosses into our code: opaque types, slot numbers of
// the OrtApi table and the signatures of the functions that we call. The table is append-only since
// 1.8 and no signature of an existing slot has changed, so a slot may be used if the runtime's
// minor version is at least the one that brought it (ort_has()).
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct OrtEnv OrtEnv;
typedef struct OrtStatus OrtStatus;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtIoBinding OrtIoBinding;
typedef struct OrtValue OrtValue;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtModelMetadata OrtModelMetadata;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtPrepackedWeightsContainer OrtPrepackedWeightsContainer;
typedef struct OrtThreadingOptions OrtThreadingOptions;
typedef struct OrtModel OrtModel;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtKernelInfo OrtKernelInfo;
typedef struct OrtKernelContext OrtKernelContext;
typedef void OrtRunAsyncCallback(void *user_data, OrtValue **outputs, size_t num_outputs,
                                 OrtStatus *status);
typedef void OrtLoggingFunction(void *param, int severity, const char *category, const char *logid,
                                const char *code_location, const char *message);

typedef struct OrtApiBase {
    const void *const *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} OrtApiBase;
typedef const OrtApiBase *OrtGetApiBaseFn(void);

typedef struct OrtEnvCreationOptions {
    uint32_t version;
    int32_t logging_severity_level;
    const char *log_id;
} OrtEnvCreationOptions; // prefix; more fields follow

enum {
    ORT_TYPE_UNKNOWN = 0,
    ORT_TYPE_TENSOR = 1,
};

// Functions that we call: name, slot, minor version that brought it, return type, parameters.
#define ORT_CALLS(XX)                                                                              \
    XX(GetErrorCode, 1, 0, int, (const OrtStatus *))                                               \
    XX(GetErrorMessage, 2, 0, const char *, (const OrtStatus *))                                   \
    XX(CreateTensorWithDataAsOrtValue, 49, 0, OrtStatus *,                                         \
       (const OrtMemoryInfo *, void *, size_t, const int64_t *, size_t, int, OrtValue **))         \
    XX(CreateSessionOptions, 10, 0, OrtStatus *, (OrtSessionOptions **))                           \
    XX(CloneSessionOptions, 12, 0, OrtStatus *, (const OrtSessionOptions *, OrtSessionOptions **)) \
    XX(ReleaseSessionOptions, 100, 0, void, (OrtSessionOptions *))                                 \
    XX(IsTensor, 50, 0, OrtStatus *, (const OrtValue *, int *))                                    \
    XX(CastTypeInfoToTensorInfo, 55, 0, OrtStatus *,                                               \
       (const OrtTypeInfo *, const OrtTensorTypeAndShapeInfo **))                                  \
    XX(GetTensorElementType, 60, 0, OrtStatus *, (const OrtTensorTypeAndShapeInfo *, int *))       \
    XX(GetDimensionsCount, 61, 0, OrtStatus *, (const OrtTensorTypeAndShapeInfo *, size_t *))      \
    XX(GetDimensions, 62, 0, OrtStatus *, (const OrtTensorTypeAndShapeInfo *, int64_t *, size_t))  \
    XX(GetTensorTypeAndShape, 65, 0, OrtStatus *,                                                  \
       (const OrtValue *, OrtTensorTypeAndShapeInfo **))                                           \
    XX(GetValueType, 67, 0, OrtStatus *, (const OrtValue *, int *))                                \
    XX(CreateCpuMemoryInfo, 69, 0, OrtStatus *, (int, int, OrtMemoryInfo **))                      \
    XX(AllocatorFree, 76, 0, OrtStatus *, (OrtAllocator *, void *))                                \
    XX(GetAllocatorWithDefaultOptions, 78, 0, OrtStatus *, (OrtAllocator **))                      \
    XX(KernelContext_GetInputCount, 88, 0, OrtStatus *, (const OrtKernelContext *, size_t *))      \
    XX(KernelContext_GetOutputCount, 89, 0, OrtStatus *, (const OrtKernelContext *, size_t *))     \
    XX(KernelContext_GetInput, 90, 0, OrtStatus *,                                                 \
       (const OrtKernelContext *, size_t, const OrtValue **))                                      \
    XX(ReleaseStatus, 93, 0, void, (OrtStatus *))                                                  \
    XX(ReleaseMemoryInfo, 94, 0, void, (OrtMemoryInfo *))                                          \
    XX(ReleaseValue, 96, 0, void, (OrtValue *))                                                    \
    XX(ReleaseTypeInfo, 98, 0, void, (OrtTypeInfo *))                                              \
    XX(ReleaseTensorTypeAndShapeInfo, 99, 0, void, (OrtTensorTypeAndShapeInfo *))                  \
    XX(SessionGetModelMetadata, 111, 2, OrtStatus *, (const OrtSession *, OrtModelMetadata **))    \
    XX(ModelMetadataGetProducerName, 112, 2, OrtStatus *,                                          \
       (const OrtModelMetadata *, OrtAllocator *, char **))                                        \
    XX(ModelMetadataGetGraphName, 113, 2, OrtStatus *,                                             \
       (const OrtModelMetadata *, OrtAllocator *, char **))                                        \
    XX(ReleaseModelMetadata, 118, 2, void, (OrtModelMetadata *))                                   \
    XX(CreateAllocator, 131, 5, OrtStatus *,                                                       \
       (const OrtSession *, const OrtMemoryInfo *, OrtAllocator **))                               \
    XX(ReleaseAllocator, 132, 5, void, (OrtAllocator *))                                           \
    XX(GetBoundOutputNames, 139, 5, OrtStatus *,                                                   \
       (const OrtIoBinding *, OrtAllocator *, char **, size_t **, size_t *))                       \
    XX(GetBoundOutputValues, 140, 5, OrtStatus *,                                                  \
       (const OrtIoBinding *, OrtAllocator *, OrtValue ***, size_t *))                             \
    XX(KernelInfo_GetInputCount, 230, 14, OrtStatus *, (const OrtKernelInfo *, size_t *))          \
    XX(KernelInfo_GetOutputCount, 231, 14, OrtStatus *, (const OrtKernelInfo *, size_t *))         \
    XX(KernelInfo_GetInputName, 232, 14, OrtStatus *,                                              \
       (const OrtKernelInfo *, size_t, char *, size_t *))                                          \
    XX(KernelInfo_GetOutputName, 233, 14, OrtStatus *,                                             \
       (const OrtKernelInfo *, size_t, char *, size_t *))                                          \
    XX(KernelInfo_GetInputTypeInfo, 234, 14, OrtStatus *,                                          \
       (const OrtKernelInfo *, size_t, OrtTypeInfo **))                                            \
    XX(KernelInfo_GetNodeName, 244, 15, OrtStatus *, (const OrtKernelInfo *, char *, size_t *))    \
    XX(KernelInfoGetConstantInput_tensor, 249, 15, OrtStatus *,                                    \
       (const OrtKernelInfo *, size_t, int *, const OrtValue **))                                  \
    XX(HasValue, 192, 10, OrtStatus *, (const OrtValue *, int *))                                  \
    XX(GetBuildInfoString, 254, 15, const char *, (void))                                          \
    XX(GetModelEditorApi, 291, 22, const void *const *, (void))                                    \
    XX(GetEpDevices, 303, 22, OrtStatus *,                                                         \
       (const OrtEnv *, const OrtEpDevice *const **, size_t *))                                    \
    XX(SessionOptionsAppendExecutionProvider_V2, 304, 22, OrtStatus *,                             \
       (OrtSessionOptions *, OrtEnv *, const OrtEpDevice *const *, size_t, const char *const *,    \
        const char *const *, size_t))                                                              \
    XX(HardwareDevice_Type, 307, 22, int, (const OrtHardwareDevice *))                             \
    XX(EpDevice_EpName, 312, 22, const char *, (const OrtEpDevice *))                              \
    XX(EpDevice_Device, 316, 22, const OrtHardwareDevice *, (const OrtEpDevice *))                 \
    XX(GetEpApi, 317, 22, const void *const *, (void))                                             \
    XX(KernelInfo_GetOperatorDomain, 392, 24, OrtStatus *,                                         \
       (const OrtKernelInfo *, char *, size_t *))                                                  \
    XX(KernelInfo_GetOperatorType, 393, 24, OrtStatus *,                                           \
       (const OrtKernelInfo *, char *, size_t *))                                                  \
    XX(KernelInfo_GetOperatorSinceVersion, 394, 24, OrtStatus *, (const OrtKernelInfo *, int *))   \
    XX(GetTensorElementTypeAndShapeDataReference, 414, 24, OrtStatus *,                            \
       (const OrtValue *, int *, const int64_t **, size_t *))

#define XX(name, slot, since, ret, params)                                                         \
    enum { ORT_SLOT_##name = slot, ORT_SINCE_##name = since };                                     \
    typedef ret ort_##name##_fn params;
ORT_CALLS(XX)
#undef XX

// ORT_CALL(module, GetErrorCode)(status); only if ORT_HAS(module, GetErrorCode).
#define ORT_HAS(module, name)  ((module)->minor >= ORT_SINCE_##name)
#define ORT_CALL(module, name) ((ort_##name##_fn *)(module)->api[ORT_SLOT_##name])
