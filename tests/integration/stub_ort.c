// SPDX-License-Identifier: MIT
// A DLL that looks like ONNX Runtime from outside: the export, the text of GetVersionString, and a
// file version (stub_ort.rc). STUB_ORT_OPAQUE makes it one whose code can't be read.
typedef struct ort_api_base {
    const void *(*get_api)(unsigned version);
    const char *(*get_version_string)(void);
} ort_api_base;

__declspec(dllexport) const ort_api_base *OrtGetApiBase(void);

#ifdef STUB_ORT_OPAQUE
const ort_api_base *OrtGetApiBase(void)
{
    return 0;
}
#else
static const void *get_api(unsigned version)
{
    (void)version;
    return 0;
}

static const char *get_version_string(void)
{
    return "1.99.4";
}

static const ort_api_base base = {get_api, get_version_string};

const ort_api_base *OrtGetApiBase(void)
{
    return &base;
}
#endif
